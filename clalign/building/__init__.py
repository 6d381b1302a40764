"""Profiles of HMMER3 from alignments and from single sequences, with the numbers of its hmmbuild."""
