"""What the window shows of one engine alone, in a folder for each."""
