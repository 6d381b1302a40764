"""``clalign calibrate``: fit the score statistics of HMMER2 profiles."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from clalign.cli.inputs import in_files, input_path
from clalign.cli.options import (
    add_device_option,
    add_progress_options,
    device_of,
    progress_mode,
)
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import enough_read, show
from clalign.common.plain_data import Json
from clalign.errors import OptionError, OutputError
from clalign.tools.specs import CalibrateSpec
from clalign.values.typed_numbers import count, number, whole_number

COMMAND = "clalign calibrate"

DESCRIPTION = (
    "Score random sequences with HMMER2 profiles, fit an extreme value distribution to the scores as"
    " hmmcalibrate does, and write it into a copy of the file. Searches with the copy report E-values instead of"
    " upper bounds. The same seed gives the same values on every device."
)

EXAMPLES = (
    "clalign calibrate -o globins.calibrated.hmm globins.hmm",
    "clalign calibrate --in-place --device gpu families.hmm",
    "clalign calibrate --num 20000 --seed 7 --histogram fits.json -o out.hmm families.hmm",
)

STOPPED = "Stopped. Nothing was written."
BAR_WIDTH = 50
MAX_LINES = 40
"""Lines of a printed histogram; longer ones have several bits to a line."""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    default = CalibrateSpec()
    parser.add_argument("profiles", metavar="HMMFILE", help="HMMER2 profiles, one or many; - is standard input")
    group = parser.add_argument_group("Output")
    group.add_argument("-o", dest="output", metavar="OUT", help="write the calibrated copy to OUT, a new file")
    group.add_argument("--in-place", action="store_true", help="replace HMMFILE when everything is computed")
    group.add_argument("--histogram", metavar="F", help="write histograms and fits as JSON to F")
    group = parser.add_argument_group("Random sequences")
    group.add_argument("--num", type=count, default=default.n, metavar="N", help=f"how many [{default.n}]")
    group.add_argument("--seed", type=whole_number, default=default.seed, metavar="S", help=f"seed [{default.seed}]")
    group.add_argument("--mean", type=number, default=default.mean, metavar="X", help=f"mean length [{default.mean:g}]")
    group.add_argument(
        "--sd", type=number, default=default.sd, metavar="X", help=f"standard deviation of the lengths [{default.sd:g}]"
    )
    group.add_argument("--fixed", type=count, metavar="N", help="give all of them this length instead")
    add_device_option(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Calibrate and print the fits."""
    from clalign.cli.watch import watch_job
    from clalign.formats.writers import whole_file

    spec = CalibrateSpec(arguments.num, arguments.seed, arguments.mean, arguments.sd, arguments.fixed)
    output = _output(arguments)
    with in_files(input_path(arguments.profiles)) as (profiles,):
        job = {
            "job": "calibrate", "profiles": profiles, "output": output, "device": device_of(arguments), "n": spec.n,
            "seed": spec.seed, "mean": spec.mean, "sd": spec.sd, "fixed": spec.fixed,
        }  # fmt: skip
        value = watch_job(job, progress_mode(arguments), STOPPED)
    if arguments.histogram:
        with enough_read(), whole_file(arguments.histogram) as stream:
            stream.write(json.dumps({"kind": "calibration", **value}, indent=1) + "\n")
    if arguments.histogram != "-":
        show("\n".join(line for fit in value["fits"] for line in fit_lines(fit)))
        show(f"\nWrote {len(value['fits'])} calibrated profile{'s' * (len(value['fits']) != 1)} to {output}.")
    return 0


def _output(arguments: argparse.Namespace) -> str:
    """Return the absolute path to write to, after refusing what cannot or must not be written."""
    from clalign.formats.sources import is_plain

    profiles, output = arguments.profiles, arguments.output
    if (output is None) != arguments.in_place:
        raise UsageError(COMMAND, "give either -o OUT for a calibrated copy or --in-place")
    if output == "-":
        raise OptionError("The calibrated copy cannot go to standard output (-).", "Give -o a file name.")
    if arguments.in_place and not is_plain(profiles):
        raise OptionError("Only a file can be calibrated in place.", "Name a file for the copy with -o.")
    input_path(profiles)
    if output is not None and Path(output).exists():
        hint = "Choose another name, or remove it first; to replace the profiles themselves, give --in-place."
        raise OutputError(f"{output} already exists.", hint)
    target = str(Path(profiles if arguments.in_place else output).absolute())
    check_places(filter(None, (target, arguments.histogram)), () if arguments.in_place else (profiles,))
    return target


def fit_lines(fit: Json) -> list[str]:
    """Return a fit and its histogram as text: bars are scores, ``*`` is what the fit expects."""
    from clalign.values.evalues import gumbel_tail

    low, counts = fit["histogram"]["low"], fit["histogram"]["counts"]
    step = -(-len(counts) // MAX_LINES)
    before = -int(fit["edge"] - low) % step  # a line begins where the fit begins
    low, counts = low - before, [0] * before + counts
    rows = []
    n = fit["n_fitted"] + fit["n_censored"]
    for first in range(0, len(counts), step):
        lower, upper = low + first, low + min(first + step, len(counts))
        expected = n * (gumbel_tail(lower, fit["mu"], fit["lambda"]) - gumbel_tail(upper, fit["mu"], fit["lambda"]))
        rows.append((lower, sum(counts[first : first + step]), expected if lower >= fit["edge"] else None))
    unit = max(1, max(row[1] for row in rows)) / BAR_WIDTH
    lines = ["", f"{fit['name']} ({fit['length']} nodes)",
             f"  mu {fit['mu']:.6f}   lambda {fit['lambda']:.6f}   highest score {fit['highest']:.3f}",
             f"  {fit['n']} random sequences, seed {fit['seed']}; fitted: {fit['n_fitted']} scores from"
             f" {fit['edge']:g} bits on. {fit['words']}.",
             f"  {'bits from':>9s} {'scores':>7s} {'fit':>7s}  = scores, * fit"]  # fmt: skip
    for lower, observed, expected in rows:
        bar = list(("=" * round(observed / unit)).ljust(BAR_WIDTH + 1))
        if expected is not None:
            bar[min(BAR_WIDTH, round(expected / unit))] = "*"
        shown = "" if expected is None else f"{expected:.0f}"
        lines.append(f"  {lower:9d} {observed:7d} {shown:>7s}  {''.join(bar).rstrip()}")
    return lines
