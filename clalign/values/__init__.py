"""What things are: read-only values, and functions from values to values."""
