"""Profile HMM search on any OpenCL device.

The names below are the library; they are loaded when first used, so that importing the package is quick.

>>> import clalign
>>> with clalign.hmmsearch("family.hmm", "proteins.fasta", run="family.clalign") as run:  # doctest: +SKIP
...     for hit in run.hits():
...         print(hit.name, hit.score, hit.evalue)
"""

import sys

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("clalign", "-mclalign") and not sys.flags.safe_path:
    # `python -m clalign` looks for every module in the current folder first; there may lie a numpy.py beside the data.
    del sys.path[0]

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "Alphabet": "values.alphabets",
    "Device": "values.devices",
    "Hit": "values.hits",
    "Hmm": "values.profiles",
    "PairwiseSpec": "engines.pairwise.spec",
    "SearchSpec": "engines.plan7.spec",
    "Sequence": "values.sequences",
    "SequenceDatabase": "values.sequences",
    "all_devices": "compute.opencl.choice",
    "hmmsearch": "engines.plan7.profile_search",
    "load_database": "databases.loading",
    "load_profiles": "formats.profiles",
    "open_run": "runs.run_file",
    "pairwise_search": "engines.pairwise.search",
    "to_integer_profile": "values.profiles",
}

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
