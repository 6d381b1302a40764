"""Pages of measurements."""
