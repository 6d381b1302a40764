"""The parts of the window that belong to one engine, in a folder for each."""
