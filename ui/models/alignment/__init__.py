"""Models of the views of alignments."""
