"""One file for each kernel: its arguments, its launch, its reference."""
