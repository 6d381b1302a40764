"""Statistical alignment of many sequences by the posteriors of all pairs (FSA)."""
