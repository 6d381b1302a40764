"""What a run file is made of: its tables, how batches are stored, and what is worked out from them."""
