"""Models of pages of measurements."""
