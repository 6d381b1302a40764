"""A run file that comes by mail: what is in it is answered or refused, and never runs, fills or freezes anything."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import clalign
from clalign.cli import main
from clalign.engines.export import export
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import DamagedRun, ExitCode, InputError
from clalign.jobs import QuietContext
from clalign.runs import connection, tables
from clalign.runs.inputs import at_hand, check_regular, input_of, relocate
from clalign.runs.run_file import open_run
from clalign.values.devices import REFERENCE
from tests.computing import compute_search
from tests.runs import hostile_runs


@pytest.fixture(scope="session")
def sound_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return hostile_runs.make_runs(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def copied(sound_runs: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda kind: Path(shutil.copy(sound_runs[kind], tmp_path))


@pytest.mark.thorough(n_cases=[3], kind=["hmmer2"])
@pytest.mark.exhaustive(n_cases=[3, 5])
@pytest.mark.parametrize("n_cases", [3, 5, 100])
@pytest.mark.parametrize("kind", ["hmmer2", "hmmer3", "pairwise", "msa"])
def test_whatever_is_changed_is_refused_or_answered(sound_runs: dict[str, Path], kind: str, n_cases: int) -> None:
    """The same ones everywhere; all of them, some 4,000, take minutes to an hour: ``hostile_runs.py`` runs them."""
    found = hostile_runs.cases(sound_runs[kind])
    assert len(found) > 1000
    chosen = sorted(found, key=lambda case: zlib.crc32(f"{n_cases} {case.name}".encode()))[:n_cases]
    assert [line for case in chosen for line in hostile_runs.tried(sound_runs[kind], case, hostile_runs.uses)] == []


@pytest.mark.thorough(
    name=["targets.length = '0'", "pairwise_alignments.identical = '-5'", "queries 0 cells_per_residue = 'None'"]
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("hmmer2", "parts.states = ''"),
        ("hmmer2", "batches.scores = 'text'"),
        ("hmmer2", "targets.length = '0'"),
        ("pairwise", "pairwise_alignments.identical = 'text'"),
        ("pairwise", "pairwise_alignments.identical = '-5'"),
        ("pairwise", "queries 0 cells_per_residue = 'Ellipsis'"),
        ("msa", "queries 0 cells_per_residue = 'None'"),
    ],
)
def test_what_a_long_run_of_all_cases_has_found(sound_runs: dict[str, Path], kind: str, name: str) -> None:
    path = sound_runs[kind]
    (case,) = (case for case in hostile_runs.cases(path) if case.name == name)
    assert hostile_runs.tried(path, case, hostile_runs.uses) == []


@pytest.mark.parametrize("script", hostile_runs.SCRIPTS[:9])
def test_other_tables_than_ours_are_refused(copied: Callable[[str], Path], script: str) -> None:
    path = copied("hmmer2")
    hostile_runs.sql(script)(path)
    with pytest.raises(DamagedRun):
        open_run(path)
    assert main(["export", str(path)]) == ExitCode.UNREADABLE


def test_a_sound_file_is_read_as_before(copied: Callable[[str], Path]) -> None:
    for kind in ("hmmer2", "hmmer3", "pairwise", "msa"):
        path = copied(kind)
        assert [name for name, use in hostile_runs.uses(path) if use() is Ellipsis] == []
        with open_run(path) as run:
            assert run.state == "done"
            assert run.n_hits() + len(run.alignments()) > 0


def test_a_block_of_scores_never_grows_beyond_its_batch(copied: Callable[[str], Path]) -> None:
    path = copied("hmmer2")
    bomb = zlib.compress(bytes(2**27), 9)
    hostile_runs.sql("UPDATE batches SET scores = ?, last = first + 200000000", bomb)(path)
    with open_run(path) as run, pytest.raises(DamagedRun, match="packed"):
        list(run.scores(0))


def test_an_endless_question_ends(copied: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MIN_STEPS", 10**6)
    monkeypatch.setattr(connection, "STEPS_PER_BYTE", 1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(DamagedRun, match="interrupted"), open_run(copied("hmmer2")) as run:
        run.connection.execute(endless).fetchone()
    with open_run(copied("hmmer2")) as run:
        for _ in range(40):  # each question has its own time
            run.connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000)"
                                   " SELECT max(i) FROM n").fetchone()  # fmt: skip


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("hits", "score", "many"), ("hits", "score", 1e300), ("parts", "bias", -1e300),
        ("targets", "length", -1), ("targets", "description", None),
        ("targets", "name", None), ("targets", "name", "a\nb"),
        ("hits", "evalue", float("inf")), ("parts", "target_end", 2**40), ("parts", "states", "MXM"),
        ("parts", "query_text", b"\xff"), ("queries", "card", "[" * 100_000), ("queries", "card", "{}"),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_reported(
    copied: Callable[[str], Path], table: str, column: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied("hmmer2")
    hostile_runs.sql(f"UPDATE {table} SET {column} = ?", value)(path)
    assert main(["export", "--tsv", "-", str(path)]) == ExitCode.UNREADABLE
    messages = capsys.readouterr().err
    assert messages.startswith(f"clalign: {path}: ")
    assert len(messages) < 1000


@pytest.mark.parametrize("annotation", ["consensus", "reference", "structure"])
def test_an_annotation_has_a_letter_for_each_node(copied: Callable[[str], Path], annotation: str) -> None:
    path = copied("hmmer3")
    hostile_runs.sql(f"UPDATE queries SET card = json_set(card, '$.{annotation}', 'xxxx')")(path)
    with pytest.raises(DamagedRun, match=annotation), open_run(path) as run:
        run.cards()


def test_a_hit_of_a_pair_has_an_alignment(copied: Callable[[str], Path], tmp_path: Path) -> None:
    path = copied("pairwise")
    hostile_runs.sql("UPDATE parts SET hit = hit + 1000")(path)
    with pytest.raises(DamagedRun, match="alignment"):
        export(path, "text", tmp_path / "out")


@pytest.mark.parametrize("kind", ["hmmer2", "pairwise"])
def test_what_a_card_may_lack_may_be_null(copied: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    path = copied(kind)
    for key in ("bin", "unit", "report_score"):
        hostile_runs.sql(f"UPDATE queries SET card = json_set(card, '$.histogram_{key}', NULL)")(path)
    with open_run(path) as run:
        assert run.histogram(0)[1].sum() > 0
    export(path, "text", tmp_path / "out")


def test_a_hit_is_of_a_sequence_that_was_searched(copied: Callable[[str], Path]) -> None:
    path = copied("hmmer2")
    with open_run(path) as run:
        n = run.facts.database.n_sequences
    hostile_runs.sql("UPDATE hits SET row = ? WHERE id = (SELECT max(id) FROM hits)", n)(path)
    with open_run(path) as run, pytest.raises(DamagedRun, match="row"):
        list(run.hits())


def test_a_hit_beyond_all_chance_is_written(copied: Callable[[str], Path], tmp_path: Path) -> None:
    path, out = copied("hmmer3"), tmp_path / "out"
    hostile_runs.sql("UPDATE hits SET log_pvalue = ?", -math.inf)(path)
    export(path, "jsonl", out)
    assert json.loads(out.read_text().splitlines()[0])["log_pvalue"] is None


def test_inputs_are_plain_files_with_the_recorded_checksum(copied: Callable[[str], Path], tmp_path: Path) -> None:
    path = copied("hmmer2")
    os.mkfifo(tmp_path / "pipe")
    with open("/dev/null", "rb") as stream:
        for place in (
            "/dev/zero",
            str(tmp_path / "pipe"),
            f"/dev/fd/{stream.fileno()}",
            f"/proc/self/fd/{stream.fileno()}",
        ):
            with open_run(path, writable=True) as run:
                run.set_facts(spec=run.facts.spec | {"targets": place})
            for what in ("fasta", "text"):
                if what == "fasta":
                    with pytest.raises(InputError, match=place):
                        export(path, what, tmp_path / "out")
                else:
                    export(path, what, tmp_path / "out")  # needs none of it
            with open_run(path, writable=True) as run, pytest.raises(InputError, match=place):
                compute_search(run, run.spec(SearchSpec), lambda _: REFERENCE, QuietContext())
    secret = tmp_path / "secret.fasta"
    secret.write_text(">key\nMKVL\n")
    with open_run(path, writable=True) as run:
        run.set_facts(spec=run.facts.spec | {"targets": str(secret)})
    with pytest.raises(InputError, match=secret.name):
        export(path, "fasta", tmp_path / "out")


def test_moved_inputs_are_found_by_their_checksum(sound_runs: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(sound_runs["hmmer2"].parent, tmp_path / "first"))
    path, moved = folder / "hmmer2.clalign", tmp_path / "moved"
    with open_run(path, writable=True) as run:
        run.set_facts(
            spec=run.facts.spec | {"profiles": str(folder / "hmmer2.hmm"), "targets": str(folder / "hmmer2.fasta")}
        )
    before = tmp_path / "before.txt"
    export(path, "text", before)
    moved.mkdir()
    (folder / "hmmer2.fasta").rename(moved / "other name.fasta")
    assert main(["export", "--fasta", str(tmp_path / "a"), str(path)]) == ExitCode.UNREADABLE
    assert main(["export", "--locate", str(folder / "queries.fasta"), str(path)]) == ExitCode.UNREADABLE
    assert main(["export", "--locate", str(moved / "other name.fasta"), "--fasta", str(tmp_path / "a"), str(path)]) == 0
    assert main(["export", "--fasta", str(tmp_path / "b"), str(path)]) == 0, "it is kept with the run"
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    (folder / "hmmer2.hmm").rename(moved / "hmmer2.hmm")
    with open_run(path, writable=True) as run:
        assert relocate(run, [str(moved)]) == [(str(folder / "hmmer2.hmm"), str(moved / "hmmer2.hmm"))]
        assert at_hand(run, run.spec(SearchSpec)).profiles == str(moved / "hmmer2.hmm")
        assert input_of(run, "targets") == str(moved / "other name.fasta")
        with pytest.raises(InputError, match=tmp_path.name):
            relocate(run, [str(tmp_path)])
    assert main(["verify", "-q", "--sample", "2", str(path)]) == 0
    export(path, "text", tmp_path / "after.txt")
    assert (tmp_path / "after.txt").read_bytes() == before.read_bytes(), "the text names what was asked for"


def test_pages_that_lead_to_themselves_end(copied: Callable[[str], Path]) -> None:
    path = copied("hmmer2")
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    for page in range(1, len(data) // 4096):  # leaves become pages of branches
        data[4096 * page] = 5
    path.write_bytes(data.tobytes())
    with pytest.raises(InputError), open_run(path) as run:
        list(run.hits())


def test_a_search_with_nothing_to_score_is_sound(sound_runs: dict[str, Path], tmp_path: Path) -> None:
    path, targets = tmp_path / "run.clalign", tmp_path / "targets.fasta"
    targets.write_text(f">long\n{'A' * 100_010}\n>bad\n!!\n")
    profile = sound_runs["hmmer3"].with_name("hmmer3.hmm")
    clalign.hmmsearch(profile, targets, path, device="reference", skip_bad=True).close()
    for what in hostile_runs.exports(path):
        hostile_runs.exported(path, what, tmp_path / "out")
    with open_run(path) as run:
        assert (run.state, run.n_hits(), run.facts.n_targets) == ("done", 0, 0)


def test_whatever_a_command_line_can_hold_is_sound(sound_runs: dict[str, Path], tmp_path: Path) -> None:
    folder, path = tmp_path / "new\nline", tmp_path / "run.clalign"
    folder.mkdir()
    profile, targets = (
        shutil.copy(sound_runs["hmmer3"].with_name(f"hmmer3.{end}"), folder) for end in ("hmm", "fasta")
    )
    large = dict.fromkeys(("evalue", "domain_evalue", "inclusion_evalue", "n_targets", "f1"), 1e305)
    clalign.hmmsearch(profile, targets, path, device="reference", **large).close()
    for what in hostile_runs.exports(path):
        hostile_runs.exported(path, what, tmp_path / "out")
    with open_run(path) as run:
        assert run.n_hits() > 0
        assert at_hand(run, run.spec(SearchSpec)).targets == str(targets)
    with open_run(path, writable=True) as run:
        moved = shutil.move(targets, folder / "moved")
        relocate(run, [str(moved)])
        assert input_of(run, "targets") == str(moved)


def test_whole_numbers_beyond_all_others_are_refused(copied: Callable[[str], Path]) -> None:
    with open_run(copied("hmmer2"), writable=True) as run:
        run.set_facts(spec=run.facts.spec | {"evalue": 10**400})
        with pytest.raises(DamagedRun):
            run.spec(SearchSpec)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this system has no files in memory there")
def test_files_in_memory_are_files() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as stream:
        check_regular(stream.name)
        for place in ("/dev/fd", "/proc/self/fd"):
            with pytest.raises(InputError, match=place):
                check_regular(f"{place}/{stream.fileno()}")


ODD_VALUES = (0, 1, 2, -1, 7, 2**31, 2**53 + 1, -(2**60), 0.0, 0.5, 1.5, -0.5, 1e300, math.inf, -math.inf, "", "MID",
              "M\n", "equal", "nothing", b"", b"bytes", None)  # fmt: skip


_TYPES = set(connection.KINDS.values()) | {tables.Sign, tables.Share}


@pytest.mark.parametrize("kind", sorted(_TYPES, key=str), ids=str)
def test_a_column_fits_as_its_values_do(kind: Any) -> None:
    """Row by row a type is asked of each value; of a column, of all together."""
    of_row, chance = tables.row_type((kind,)), np.random.default_rng(7)

    def fits(value: Any) -> bool:
        try:
            msgspec.convert((value,), of_row)
        except msgspec.ValidationError:
            return False
        return True

    fitting = [value for value in ODD_VALUES if fits(value)]
    assert 0 < len(fitting) < len(ODD_VALUES)
    for choice in (fitting, ODD_VALUES):
        for _ in range(60):
            values = tuple(choice[n] for n in chance.integers(0, len(choice), chance.integers(1, 5)))
            assert tables.all_fit(kind, values) == all(map(fits, values)), values
    assert tables.all_fit(kind, ())
