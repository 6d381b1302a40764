"""Searches and scans with profile HMMs of HMMER2 and HMMER3."""
