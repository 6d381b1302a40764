"""Where the frozen program starts: the command line if words are given, else the window."""

import multiprocessing
import sys
from pathlib import Path

from clalign.cli import be_program

if __name__ == "__main__":
    multiprocessing.freeze_support()
    words = sys.argv[1:]
    # The desktop starts `clalign-gui FILES`; both names are the same program.
    if Path(sys.argv[0]).stem == "clalign-gui" or not words:
        words = ["gui", *words] if words[:1] != ["gui"] else words
    sys.exit(be_program(words))
