"""Models of shared widgets."""
