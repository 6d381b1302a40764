"""Models of charts."""
