"""What can be run: each engine in a folder of its own."""
