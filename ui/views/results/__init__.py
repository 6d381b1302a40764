"""Results of a run: tables of hits, one hit, report and export."""
