"""What the ladder is measured on, and what it is compared with."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clalign.errors import InputError, OptionError
from clalign.jobs import QuietContext
from clalign.labs import published_ladder as published
from clalign.labs.ladder_data import divergence_sets, ladder_data, ladder_model, published_lengths, shortened
from clalign.labs.ladder_rungs import RUNGS
from clalign.labs.occupancy import occupancy
from clalign.stages.plan7.viterbi_ladder import AXES
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_profile

GOLDEN = Path(__file__).parents[1] / "golden"
PROTEINS = str(GOLDEN / "sequences" / "built.fa")


def texts(batch: SequenceBatch) -> list[bytes]:
    return [batch.codes[a:b].tobytes() for a, b in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]


def test_every_choice_but_those_of_granularity_has_a_rung_of_its_own() -> None:
    alone = {
        (axis, choice) for rung in RUNGS if rung.group == "alone" for axis, choice in rung.choices.changed().items()
    }
    wanted = {(axis, choice) for axis, choices in AXES.items() for choice in choices[1:]}
    assert {(axis, choice) for axis, choice in wanted if axis not in ("granularity", "first_row")} <= alone
    names = [rung.name for rung in RUNGS]
    assert len(set(names)) == len(names)


def test_published_figures_belong_to_rungs() -> None:
    names = {rung.name for rung in RUNGS}
    tables = (published.ALONE_SECONDS, published.COMBINED_SECONDS, published.OF_THE_COMPILER)
    for table in tables:
        assert set(table) <= names
    rows = {rung.name: published.published_row(rung.name) or {} for rung in RUNGS}
    assert rows["private-rows"]["speedup"] == 21.51
    assert rows["padded-rows"]["speedup"] == 7.96
    assert rows["1+2+3+4+6+7"]["speedup"] == 50.65
    assert rows["vector"] == {}
    assert len(published.FAMILIES) == 20
    assert math.isclose(sum(published.FAMILIES.values()) / 20, 173.45)


def test_local_emissions_are_compared_over_the_families_that_fitted() -> None:
    row = published.published_row("local-emissions")
    assert row is not None
    assert row["speedup"] == 1.07


@pytest.mark.parametrize(
    ("capability", "group", "registers", "local", "expected"),
    [
        (90, 256, 32, 0, 1.0),
        (90, 256, 64, 0, 0.5),
        (90, 256, 33, 0, 0.75),
        (90, 256, 255, 0, 0.125),
        (90, 256, 32, 48000, 0.5),
        (90, 33, 16, 0, 1.0),
        (90, 1, 16, 0, 0.5),
        (75, 1024, 32, 0, 1.0),
        (86, 256, 32, 0, 1.0),
        (90, 256, None, 0, None),
        (0, 256, 32, 0, None),
    ],
)
def test_occupancy(capability: int, group: int, registers: int | None, local: int, expected: float | None) -> None:
    assert occupancy(capability, group, registers, local) == expected


def test_synthetic_data() -> None:
    rng = np.random.default_rng(1)
    lengths = published_lengths(rng, 3000)
    assert len(lengths) == 3000
    assert lengths.min() >= 550
    assert lengths.max() <= 1500
    assert 700 < lengths.mean() < 850
    model = random_profile(rng, 20)
    job = ladder_data(model, None, None, 20 * 1025 * 300, 128, 1, QuietContext())
    assert len(job.batch) == 256
    assert job.cells == job.batch.offsets[-1] * 20
    again = ladder_data(model, None, None, 20 * 1025 * 300, 128, 1, QuietContext())
    assert (job.batch.codes == again.batch.codes).all()


def test_data_of_a_user() -> None:
    model = ladder_model(str(GOLDEN / "profiles" / "rrm_ls.hmm"), None, 1)
    assert model.hmm.name == "rrm_ls"
    job = ladder_data(model, PROTEINS, 4, 1.0, 1, 1, QuietContext())
    whole = ladder_data(model, PROTEINS, None, 1e12, 1, 1, QuietContext())
    assert len(job.batch) == 4
    assert set(texts(job.batch)) <= set(texts(whole.batch))
    with pytest.raises(OptionError):
        ladder_model(str(GOLDEN / "profiles" / "rrm_ls.hmm"), 100, 1)


def test_data_that_cannot_be_measured(tmp_path: Path) -> None:
    empty = tmp_path / "empty.fa"
    empty.write_text(">a\n>b\n")
    with pytest.raises(InputError, match="no residues"):
        ladder_data(ladder_model(None, 10, 1), str(empty), None, 1e9, 1, 1, QuietContext())


def test_shortened_batch() -> None:
    rng = np.random.default_rng(2)
    batch = random_batch(rng, random_profile(rng, 9), 20, 30)
    assert texts(shortened(batch, 7)) == [text[:7] for text in texts(batch)]
    assert texts(shortened(batch, 1000)) == texts(batch)


def test_divergence_sets() -> None:
    sets = {name: texts(batch) for name, (_, batch) in divergence_sets(np.random.default_rng(3), 1e6).items()}
    assert len(set(sets["equal"])) == 1
    assert len(set(sets["different"])) == len(sets["different"]) == len(sets["equal"])
    assert {len(text) for text in sets["equal"] + sets["different"]} == {32}
    groups = [{len(text) for text in sets["grouped"][i : i + 32]} for i in range(0, len(sets["grouped"]), 32)]
    assert all(len(lengths) == 1 for lengths in groups)
    assert sorted(map(min, groups)) == list(map(min, groups))
    assert (min(groups[0]), min(groups[-1])) == (10, 499)
    assert sets["shuffled"] != sets["grouped"]
    assert sorted(sets["shuffled"]) == sorted(sets["grouped"])
