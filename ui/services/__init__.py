"""What is open and what runs: the controllers that those of the engines build on."""
