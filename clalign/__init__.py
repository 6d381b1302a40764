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
from typing import TYPE_CHECKING

from clalign import runs as _runs

__version__ = "0.1.0"

# No room below knows the engines, and nobody who opens a run file has to name them.
_runs.find_declaration = lambda name: import_module("clalign.engines.engine").declaration_of(name)

if TYPE_CHECKING:
    from clalign.alignment_api import accuracy as accuracy
    from clalign.alignment_api import add as add
    from clalign.alignment_api import hmmalign as hmmalign
    from clalign.alignment_api import realign as realign
    from clalign.alignment_api import tree as tree
    from clalign.api import Query as Query
    from clalign.api import Results as Results
    from clalign.api import align as align
    from clalign.api import align_many as align_many
    from clalign.api import calibrate as calibrate
    from clalign.api import devices as devices
    from clalign.api import example as example
    from clalign.api import export as export
    from clalign.api import hmmbuild as hmmbuild
    from clalign.api import hmmscan as hmmscan
    from clalign.api import hmmsearch as hmmsearch
    from clalign.api import merge as merge
    from clalign.api import open_run as open_run
    from clalign.api import phmmer as phmmer
    from clalign.api import picture as picture
    from clalign.api import sw as sw
    from clalign.databases.loading import load_database as load_database
    from clalign.engines.architectures import read_architectures as read_architectures
    from clalign.engines.hit_alignments import read_hit_alignment as read_hit_alignment
    from clalign.engines.overview import read_overview as read_overview
    from clalign.engines.rounds import Round as Round
    from clalign.formats.profiles import load_profiles as load_profiles
    from clalign.rounds_api import Rounds as Rounds
    from clalign.rounds_api import jackhmmer as jackhmmer
    from clalign.values.alphabets import Alphabet as Alphabet
    from clalign.values.devices import Device as Device
    from clalign.values.hit_tables import HitTable as HitTable
    from clalign.values.hits import Hit as Hit
    from clalign.values.profiles import Hmm as Hmm
    from clalign.values.profiles import to_integer_profile as to_integer_profile
    from clalign.values.sequences import Sequence as Sequence
    from clalign.values.sequences import SequenceDatabase as SequenceDatabase
else:
    _AT = {
        **dict.fromkeys(
            [
                "Query",
                "Results",
                "align",
                "align_many",
                "calibrate",
                "devices",
                "example",
                "export",
                "hmmbuild",
                "hmmscan",
                "hmmsearch",
                "merge",
                "open_run",
                "phmmer",
                "picture",
                "sw",
            ],
            "api",
        ),
        **dict.fromkeys(["Rounds", "jackhmmer"], "rounds_api"),
        **dict.fromkeys(["accuracy", "add", "hmmalign", "realign", "tree"], "alignment_api"),
        "Alphabet": "values.alphabets",
        "Device": "values.devices",
        "Hit": "values.hits",
        "HitTable": "values.hit_tables",
        "Hmm": "values.profiles",
        "Round": "engines.rounds",
        "Sequence": "values.sequences",
        "SequenceDatabase": "values.sequences",
        "load_database": "databases.loading",
        "load_profiles": "formats.profiles",
        "read_architectures": "engines.architectures",
        "read_hit_alignment": "engines.hit_alignments",
        "read_overview": "engines.overview",
        "to_integer_profile": "values.profiles",
    }
    __all__ = ["__version__", *_AT]

    def __getattr__(name: str) -> object:
        if name not in _AT:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_AT[name]}"), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
