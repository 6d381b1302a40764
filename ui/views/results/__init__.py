"""What a run found: tables of hits, one hit, report and export."""
