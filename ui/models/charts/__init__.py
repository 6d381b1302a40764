"""What charts show, without a window."""
