"""Statistical alignments of many sequences: their ladder."""
