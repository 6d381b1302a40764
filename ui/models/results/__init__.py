"""A run and its hits, as pages show them."""
