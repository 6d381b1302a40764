"""``clalign cache``: show or clear what is kept to be used again."""

from __future__ import annotations

import argparse
import time

from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.common.amounts import size_text

DESCRIPTION = (
    "Show where prepared sequences, decoded profiles and compiled kernels are kept, and how much space"
    " they take. They are made again when needed."
)

EXAMPLES = ("clalign cache", "clalign cache --clear")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument_group("Cache").add_argument("--clear", action="store_true", help="remove all of them")


def run(arguments: argparse.Namespace) -> int:
    """Show or clear the cache."""
    from clalign.databases.cache import cached_databases, clear_cache, sizes
    from clalign.databases.cache_root import cache_limit, cache_root

    if arguments.clear:
        show(f"Freed {size_text(clear_cache())}.")
        return 0
    parts = sizes()
    show(f"Folder: {cache_root()}")
    show(f"Size:   {size_text(sum(parts.values()))} of {size_text(cache_limit())}")
    for words, size in parts.items():
        show(f"  {size_text(size):>12s}  {words}")
    found = cached_databases()
    if found:
        show("Sequences, with the date of their last use:")
    for entry in found:
        show(f"  {size_text(entry.size):>12s}  {time.strftime('%Y-%m-%d', time.localtime(entry.used))}  {entry.source}")
    return 0
