"""Smith-Waterman searches of sequences against sequences, and alignments of given pairs."""
