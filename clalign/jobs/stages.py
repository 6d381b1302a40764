"""Words for the stages of jobs, as the command line and the window show them."""

from __future__ import annotations

from clalign.jobs import BUILD, TEST

_WORDS = {
    BUILD: "Compiling kernels, once for this device",
    TEST: "Testing the device, once",
    "read": "Reading",
    "encode": "Preparing sequences",
    "rows": "Ordering rows",
    "profiles": "Making profiles",
    "search": "Searching",
    "align": "Aligning",
    "training": "Learning from pairs",
    "pairs": "Comparing pairs",
    "annealing": "Merging columns",
    "refinement": "Refining columns",
    "tree": "Joining neighbors",
    "export": "Writing",
    "merge": "Merging parts",
    "verify": "Checking",
    "self-test": "Testing",
    "calibrate": "Scoring random sequences",
    "tune": "Trying kernels in different sizes",
    "bench": "Measuring devices",
    "ladder": "Running rungs",
    "lab": "Measuring",
}


def stage_words(stage: str) -> str:
    """Return the words for a stage of a job; a name that is not listed is made of words already."""
    return _WORDS.get(stage) or f"{stage[:1].upper()}{stage[1:]}"
