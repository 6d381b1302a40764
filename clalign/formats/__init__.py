"""Text to values and back: one module for each file format."""
