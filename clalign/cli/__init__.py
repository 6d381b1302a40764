"""The command line: one file for each sub-command, loaded only when it is asked for.

Each of those modules has ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments(parser)`` and ``run(arguments) -> int``, which
returns the exit code.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from clalign.cli import starting
from clalign.cli.streams import drop_unwritten, prepare_streams, write_stderr
from clalign.databases.cache_root import use_temporary_cache
from clalign.engines import COMMANDS
from clalign.errors import ExitCode
from clalign.system.bounds import bounded
from clalign.system.processes import INNER_COMMANDS, settle_child


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Where the words are those of an engine its worker is started before anything else is loaded.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    stands_for = words[:1] == ["as"]  # a program of HMMER, see `clalign.cli.shims`
    words = words[stands_for:]
    prepare_streams(is_child=bool(words) and words[0] in INNER_COMMANDS)
    is_help = bool({"-h", "--help", "--version"} & set(words))
    if not is_help and (warning := use_temporary_cache()):
        write_stderr(f"clalign: {warning}")
    try:
        if words[:1] == ["worker"]:
            settle_child()
        engine = COMMANDS.get(words[0], "") if words and not is_help else ""
        with bounded(words), starting.WorkerAhead(engine, starting.device_in(words)) as worker_ahead:
            if stands_for:
                from clalign.cli.shims import run_as

                return run_as(words, worker_ahead)
            from clalign.cli.program import run_words

            return run_words(words, worker_ahead)
    except KeyboardInterrupt:  # before there is anything else that takes it
        write_stderr("clalign: Interrupted.")
        return ExitCode.INTERRUPTED
    finally:
        drop_unwritten()  # else Python tries once more at its end, and complains with an exit code of its own


def be_program(argv: Sequence[str] | None = None) -> int:
    """Run the command line as all that this process does; its exit code is for `sys.exit`.

    A Ctrl-C that comes later, while Python shuts down, has nothing left to interrupt and is ignored.
    """
    try:
        return main(argv)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
