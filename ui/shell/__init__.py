"""The window itself: its frame, menus and commands, and how the program begins and ends."""
