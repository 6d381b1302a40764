"""What views of alignments show, without a window."""
