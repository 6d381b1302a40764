"""``python -m clalign``."""

import sys

from clalign.cli import be_program

if __name__ == "__main__":
    sys.exit(be_program())
