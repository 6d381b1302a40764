"""The window of clalign (Qt). Imports inside this folder are relative."""
