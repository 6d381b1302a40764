"""What HMMER3 profiles find equals what hmmsearch and hmmscan 3.3.2 print, digit by digit."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.cli.options import spec_of
from clalign.cli.program import parser_of
from clalign.engines.engine import engine_named
from clalign.engines.plan7.hmmer3.funnel import funnel_of
from clalign.engines.plan7.spec import SearchSpec
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, create_run
from clalign.values.devices import REFERENCE, Device
from clalign.values.hits import Domain, Hit
from tests.computing import compute_search

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from make_hmmer3 import FOLDER, profile_path, sequence_path  # noqa: E402

CASES = sorted((FOLDER / "answers").glob("*.json"))

ON_REFERENCE = (
    "3box__dna_max_E_1e6",
    "RRM_1__odd_max_E_1e6",
    "RRM_1__proteins_cut_nc_nobias",
    "XYPPX__odd_E_1e6_domE_1e6",
    "globins4__built_F1_0.5_F2_0.3_F3_0.1_E_1e4",
    "katdna__kat_max_E_1e9_domE_1e9",
)
"""The cases that the slow reference searches: each file of sequences once.

The others show thresholds, which the same code judges for all devices. Together these run with and without filters and
bias filter, with limits of the filters and a cutoff of the model.
"""

BOUNDARY = 1e-3
"""A score may be printed in another last digit if it lies so near the middle between two."""


def spec_of_words(name: str, words: list[str]) -> SearchSpec:
    parser, engine = parser_of(name), engine_named("plan7")
    assert parser is not None
    spec = spec_of(parser.parse_args(words), engine, engine.command(name))
    assert isinstance(spec, SearchSpec)
    return spec


def searched(path: Path, words: list[str], files: tuple[Path, Path], device: Device) -> RunFile:
    """Search with the words of a command line and return the open run."""
    run = create_run(path, engine="plan7")
    compute_search(run, spec_of_words("hmmsearch", [*words, *map(str, files)]), lambda wish: device, QuietContext())
    return run


def is_printed(value: float, text: str, form: str, slack: float = BOUNDARY) -> bool:
    """Tell whether a number is what was printed, or so near a boundary that both are right."""
    values = [value - slack, value, value + slack] if "f" in form else [value * (1 + k * slack) for k in (-1, 0, 1)]
    return any(float(format(v, form)) == float(text) for v in values)


def hit_differences(hit: Hit, row: list[str]) -> list[str]:
    """Return what of a hit is not as in a row of hmmsearch's table of targets."""
    best, shown = hit.best_domain, hit.estimates
    assert best is not None
    assert shown is not None
    counts = [shown.n_regions, shown.n_clustered, shown.n_overlaps, shown.n_envelopes, hit.n_domains,
              len(hit.reported_domains), sum(d.is_significant for d in hit.domains)]  # fmt: skip
    numbers = [
        (hit.evalue, ".2g"), (hit.score, ".1f"), (hit.bias, ".1f"), (best.evalue, ".2g"), (best.score, ".1f"),
        (best.bias, ".1f"), (shown.expected, ".1f"),
    ]  # fmt: skip
    wrong = [
        f"{v} is not {text}" for (v, form), text in zip(numbers, row[:7], strict=True) if not is_printed(v, text, form)
    ]
    return wrong + ([] if counts == [int(text) for text in row[7:]] else [f"{counts} is not {row[7:]}"])


def domain_differences(domain: Domain, number: tuple[int, int], row: list[str]) -> list[str]:
    """Return what of a domain is not as in a row of hmmsearch's table of domains."""
    assert domain.conditional_evalue is not None
    assert domain.accuracy is not None
    spans = [
        *number, domain.query_range[0] + 1, domain.query_range[1], domain.target_range[0] + 1,
        domain.target_range[1], domain.envelope[0] + 1, domain.envelope[1],
    ]  # fmt: skip
    numbers = [
        (domain.conditional_evalue, ".2g"), (domain.evalue, ".2g"), (domain.score, ".1f"), (domain.bias, ".1f"),
        (domain.accuracy, ".2f"),
    ]  # fmt: skip
    printed = [*row[2:6], row[12]]
    wrong = [
        f"{v} is not {text}" for (v, form), text in zip(numbers, printed, strict=True) if not is_printed(v, text, form)
    ]
    expected = [int(text) for text in (*row[:2], *row[6:12])]
    return wrong + ([] if spans == expected else [f"{spans} is not {expected}"])


@pytest.mark.thorough(case=[case for case in CASES if not re.search("__dna|__(built|odd|proteins)_max", case.stem)])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_equals_hmmsearch(case: Path, opencl_device: Device, tmp_path: Path) -> None:
    check(case, opencl_device, tmp_path)


@pytest.mark.thorough(name=["XYPPX__odd_E_1e6_domE_1e6"])
@pytest.mark.parametrize("name", ON_REFERENCE)
def test_the_reference_equals_hmmsearch(name: str, tmp_path: Path) -> None:
    check(FOLDER / "answers" / f"{name}.json", REFERENCE, tmp_path)


def check(case: Path, device: Device, tmp_path: Path) -> None:
    """Compare hits and domains of a search with the stored answer."""
    stored = json.loads(case.read_text())
    files = profile_path(stored["profile"]), sequence_path(stored["sequences"])
    with searched(tmp_path / "run.clalign", stored["options"], files, device) as run:
        hits = list(run.hits(0))
        funnel = [stage["passed"] for stage in funnel_of(run, 0)]
    assert [hit.name for hit in hits] == [row[0] for row in stored["hits"]]
    wrong = [(hit.name, hit_differences(hit, row[1:])) for hit, row in zip(hits, stored["hits"], strict=True)]
    assert [found for found in wrong if found[1]] == []
    listed = [(hit, d, n) for hit in hits for n, d in enumerate(hit.reported_domains, 1)]
    assert [hit.name for hit, _, _ in listed] == [row[0] for row in stored["domains"]]
    wrong = [
        (hit.name, domain_differences(domain, (number, len(hit.reported_domains)), row[1:]))
        for (hit, domain, number), row in zip(listed, stored["domains"], strict=True)
    ]
    assert [found for found in wrong if found[1]] == []
    assert funnel[1:5] == stored["passed"]
    assert funnel[5] == len(hits)


def test_the_reference_searches_each_file_of_sequences() -> None:
    stored = {case.stem: json.loads(case.read_text()) for case in CASES}
    assert {stored[name]["sequences"] for name in ON_REFERENCE} == {entry["sequences"] for entry in stored.values()}
    words = {word for name in ON_REFERENCE for word in stored[name]["options"]}
    assert words >= {"--max", "--nobias", "--F1", "--cut_nc"}


def test_there_are_cases_of_every_kind() -> None:
    """The stored answers must not dwindle unseen."""
    options = [word for case in CASES for word in json.loads(case.read_text())["options"]]
    for word in ("--max", "--nobias", "--nonull2", "--cut_ga", "--F1", "--domZ", "--incdomT", "--domE", "--seed"):
        assert word in options
    n_domains = sum(len(json.loads(case.read_text())["domains"]) for case in CASES)
    assert n_domains > 300


def test_a_number_beside_the_boundary_is_wrong() -> None:
    assert is_printed(12.3499, "12.4", ".1f")
    assert not is_printed(12.34, "12.4", ".1f")
    assert not is_printed(1.24e-5, "1.3e-05", ".2g")
    assert is_printed(1.2501e-5, "1.2e-05", ".2g")


def test_equals_hmmscan(fast_device: Device, tmp_path: Path) -> None:
    stored: dict[str, Any] = json.loads((FOLDER / "scan.json").read_text())
    library = tmp_path / "library.hmm"
    library.write_text("".join(profile_path(name).read_text() for name in stored["library"]))
    words = [*stored["options"]]
    spec = spec_of_words("hmmscan", [*words, str(library), str(sequence_path(stored["sequences"]))])
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        compute_search(run, spec, lambda wish: fast_device, QuietContext())
        found = {(card["name"], hit.name, hit.length): hit for n, card in enumerate(run.cards()) for hit in run.hits(n)}
    expected = {(row[0], row[1]): row[2:] for row in stored["hits"]}
    assert len(found) == len(stored["hits"])
    for (profile, target, _), hit in found.items():
        if sum(name == target for _, name, _ in found) == 1:
            assert hit_differences(hit, expected[profile, target]) == []
    rows = [row[2:] for row in stored["domains"]]
    assert sum(len(hit.reported_domains) for hit in found.values()) == len(rows)
    assert math.prod(hit.n_domains for hit in found.values()) > 0
