"""The run file: its tables, writing, reading, notes, and where its inputs lie."""
