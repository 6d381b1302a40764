"""What a run says of itself: all that its state demands, each of its kind; else it is damaged, for whoever opens it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import clalign
from clalign.cli import main
from clalign.engines.export import export
from clalign.errors import DamagedRun, ExitCode
from clalign.runs import run_file
from clalign.runs.run_file import create_run, open_run
from clalign.values.checked import plain
from tests.search.test_verify_every_column import KINDS

pytestmark = pytest.mark.usefixtures("worker_here")

MAY_MISS = {"command", "error", "device", "matrix_digest", "seen_digest", "name", "relocated"}
"""Facts without which a run is whole."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def run_of(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp("finished")
            KINDS[kind](folder)
            made[kind] = folder / "run.clalign"
        return made[kind]

    return run_of


def facts_of(path: Path) -> dict[str, Any]:
    with sqlite3.connect(path) as connection:
        return {name: json.loads(value) for name, value in connection.execute("SELECT name, value FROM facts")}


def change(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["hmmer2", "sw", "sw --long", "align"])
def test_no_fact_may_be_missing_or_of_another_kind(finished: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    sound, path, opened = finished(kind), tmp_path / "run.clalign", set[tuple[str, str]]()
    facts = facts_of(sound)
    for name in facts:
        for what in ("missing", "null", "text", "half", "number", "list", "object"):
            values = {
                "null": None,
                "text": "a text",
                "half": "half a pair: \udcff",
                "number": -5,
                "list": [[]],
                "object": {"a": {}},
            }
            shutil.copy(sound, path)
            if what == "missing":
                change(path, "DELETE FROM facts WHERE name = ?", name)
            else:
                change(path, "UPDATE facts SET value = ? WHERE name = ?", json.dumps(values[what]), name)
            try:
                open_run(path).close()
                opened.add((name, what))
            except DamagedRun:
                pass
    not_refused = {name for name, what in opened if what == "missing"}
    assert not_refused <= MAY_MISS
    of_another_kind = {(name, what) for name, what in opened if what in ("number", "list", "object")}
    assert of_another_kind <= {("device", "object"), ("spec", "object")}  # which say nothing that is known
    texts = {"command", "seen_digest", "name", "profiles_digest", "matrix_digest"}
    assert {name for name, what in opened if what == "text"} <= texts


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE facts SET value = json_remove(value, '$.cells') WHERE name = 'finished'",
        "UPDATE facts SET value = json_set(value, '$.cells', 'many') WHERE name = 'finished'",
        "UPDATE facts SET value = json_set(value, '$.cells', json('{}')) WHERE name = 'finished'",
        "UPDATE facts SET value = json_remove(value, '$.issues[0]', '$.length_histogram') WHERE name = 'database'",
        "UPDATE facts SET value = json_set(value, '$.shard', 7) WHERE name = 'spec'",
        "UPDATE facts SET value = json_set(value, '$.shard', 'a text') WHERE name = 'spec'",
        "DELETE FROM queries WHERE id = (SELECT max(id) FROM queries)",
        "UPDATE queries SET id = id + 1",
        "UPDATE queries SET id = 7 WHERE id = 0",
    ],
)
def test_damage_is_reported_by_every_command(
    finished: Callable[[str], Path], statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.clalign"
    shutil.copy(finished("sw"), path)
    change(path, statement)
    with pytest.raises(DamagedRun):
        open_run(path)
    for words in (
        ["export", "-o", "-"], ["export", "--html", "x.html"], ["picture", "--kind", "scores", "-o", "p.svg"],
        ["resume", "-q"], ["resume", "--dry-run"], ["verify", "-q"], ["runs", "compare", str(path)],
    ):  # fmt: skip
        assert main([*words, str(path)]) == ExitCode.UNREADABLE, words
        assert "Traceback" not in capsys.readouterr().err


def test_hits_name_their_sequences(finished: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "run.clalign"
    shutil.copy(finished("sw"), path)
    change(path, "DELETE FROM targets WHERE row = (SELECT min(row) FROM targets)")
    assert main(["export", "--html", str(tmp_path / "x.html"), str(path)]) == ExitCode.UNREADABLE
    assert main(["verify", "-q", str(path)]) == ExitCode.UNREADABLE


@pytest.mark.parametrize("clock", [0.0, 4.1e9, 9e10])
def test_a_run_is_sound_whatever_the_clock_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: float) -> None:
    monkeypatch.setattr(run_file.time, "time", lambda: clock)
    with create_run(tmp_path / "run.clalign", engine="plan7", spec={}, state="new") as run:
        run.add_message("warning", "a word")
    monkeypatch.undo()
    with open_run(tmp_path / "run.clalign") as run:
        assert run.facts.created == clock
        assert run.messages() == [(clock, "warning", "a word")]


def test_a_stopped_run_need_not_say_what_was_computed(finished: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "run.clalign"
    shutil.copy(finished("sw"), path)
    change(path, "DELETE FROM facts WHERE name = 'finished'")
    change(path, "UPDATE facts SET value = '\"stopped\"' WHERE name = 'state'")
    with open_run(path) as run:
        assert run.state == "stopped"
    assert clalign.open_run(path).run.facts.finished is None


@pytest.mark.parametrize("kind", ["hmmer2", "sw", "align"])
def test_all_that_a_run_says_is_read(finished: Callable[[str], Path], kind: str) -> None:
    path = finished(kind)
    with sqlite3.connect(path) as connection:
        cards = [json.loads(card) for (card,) in connection.execute("SELECT card FROM queries ORDER BY id")]
    with open_run(path) as run:
        known = json.loads(json.dumps(plain(run.facts)))
        assert {name: known.get(name) for name in facts_of(path)} == facts_of(path)
        assert run.cards() == cards
        declared = run.connection.declared.cards
        assert all(card.keys() <= get_type_hints(declared[card["origin"]]).keys() for card in cards)


@pytest.mark.parametrize("kind", ["hmmer2", "sw"])
def test_annotation_of_a_card_is_text(finished: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(finished(kind), tmp_path / "run.clalign"))
    change(path, "UPDATE queries SET card = json_set(card, '$.consensus', 5) WHERE id = 0")
    with open_run(path) as run, pytest.raises(DamagedRun):
        list(run.cards())


def test_a_report_has_few_bars_however_far_scores_lie_apart(finished: Callable[[str], Path], tmp_path: Path) -> None:
    path = Path(shutil.copy(finished("sw"), tmp_path / "run.clalign"))
    far_apart = np.array([[-(2**31), 1], [0, 7], [2**31 - 1, 1]], "<i4").tobytes()
    change(path, "UPDATE batches SET bins = ?", far_apart)
    assert export(path, "html", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 2**20


@pytest.mark.parametrize("last", ["99999999999999999999", "-5"])
def test_counts_of_compared_targets_are_counts(finished: Callable[[str], Path], last: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(finished("sw"), tmp_path / "run.clalign"))
    change(path, "UPDATE batches SET last = ?", last)
    with open_run(path) as run, pytest.raises(DamagedRun):
        run.n_rows_finished(0)
