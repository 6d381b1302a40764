"""What pages of measurements show, without a window."""
