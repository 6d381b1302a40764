"""``python -m clalign``."""

import sys

from clalign.cli import main

if __name__ == "__main__":
    sys.exit(main())
