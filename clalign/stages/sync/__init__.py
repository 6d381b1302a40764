"""Programs with barriers across work-groups, and their plain forms."""
