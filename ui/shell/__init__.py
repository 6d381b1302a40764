"""The window: its frame, menus and commands, and start and end of the program."""
