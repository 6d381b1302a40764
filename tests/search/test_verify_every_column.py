"""Verification finds a change of any column of a run that says something of its results; or it is not opened."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import clalign
from clalign.databases.examples import load_examples
from clalign.engines.engine import engine_of
from clalign.errors import ClalignError
from clalign.jobs import QuietContext
from clalign.runs.run_file import open_run
from clalign.values.devices import REFERENCE

UNCHECKED = {
    "facts.name", "facts.value", "messages", "notes", "verifications", "hits.verified", "batches.seconds",
    "batches.device", "pairwise_batches", "targets.sort_name",
    "msa_sequences.number", "msa_pairs.number", "msa_annealing.number",  # say no more than the order of rows
}  # fmt: skip
"""What ``docs/files.md`` names as not checked."""

RELATIVES = ">t1 like one\nMKVLAAGIVLAAGIVHEWQRTYND\n>t2 other\nACDEFGHIKLMNPQMKVLAAGIV\n>t3 third\nWWWWWCCC\n"


def hmmsearch(folder: Path, name: str) -> None:
    example = next(one for one in load_examples() if one.id == name)
    targets = folder / "targets.fasta"
    if name == "motif":
        targets.write_bytes(example.targets.read_bytes())
    else:
        targets.write_text(">rrm made up\nKLFVGNLPPDTTEEDLRELFSKFGEIESVKIVRDKETGKSKGFAFVEFETEEDAEKAIEALNGTELNGRKLRV\n"
                           ">none nothing\nMKVLAAGIVLAAGIVMKVLWWWWPPPPGGGG\n")  # fmt: skip
    clalign.hmmsearch(example.profiles, targets, folder / "run.clalign", device="reference").close()


def hmmscan(folder: Path) -> None:
    hmmsearch(folder, "rrm_1_hmmer3")
    (folder / "run.clalign").unlink()
    example = next(one for one in load_examples() if one.id == "rrm_1_hmmer3")
    clalign.hmmscan(example.profiles, folder / "targets.fasta", folder / "run.clalign", device="reference").close()


def sw(folder: Path, **options: Any) -> None:
    queries, targets = folder / "q.fasta", folder / "t.fasta"
    queries.write_text(">q1 one\nMKVLAAGIVLAAGIVHEWQRTYND\n")
    targets.write_text(RELATIVES if not options.get("long") else RELATIVES.split(">t2")[0])
    clalign.sw(queries, targets, folder / "run.clalign", device="reference", **options).close()


def align(folder: Path) -> None:
    family = folder / "family.fasta"
    family.write_text(">a\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>b\nMKVLSTGHDWQKIPNDFCYTAAGK\n>c\nKVMATHEWRIPDYFCWSTKAGKL\n")
    clalign.align_many(
        family, folder / "run.clalign", device="reference", least_emission_data=10, least_gap_data=10
    ).close()


KINDS: dict[str, Callable[[Path], None]] = {
    "hmmer2": lambda folder: hmmsearch(folder, "motif"),
    "hmmer3": lambda folder: hmmsearch(folder, "rrm_1_hmmer3"),
    "hmmscan": hmmscan,
    "sw": sw,
    "sw --long": lambda folder: sw(folder, long=True),
    "align": align,
}


def changed(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each column that holds anything, and what changes it in every row."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})"):
                if {table, f"{table}.{column}"} & UNCHECKED:
                    continue
                if not connection.execute(f"SELECT count({column}) FROM {table}").fetchone()[0]:
                    continue
                value = {"INTEGER": f"{column} + 1", "REAL": f"{column} * 1.5 + 1", "TEXT": f"{column} || 'x'"}
                yield f"{table}.{column}", f"UPDATE {table} SET {column} = {value.get(kind, f'changed({column})')}"
        if "hits" in tables:
            for column in ("sort_key", "score", "evalue", "best_evalue", "log_pvalue"):
                yield f"hits.{column} negated", f"UPDATE hits SET {column} = -{column}"
            yield "hits.included", "UPDATE hits SET included = 1 - included"


def with_another_byte(data: bytes) -> bytes:
    """Return packed numbers of which one is another."""
    return data[:-1] + bytes([data[-1] ^ 64]) if data else b"\x01"


def is_noticed(path: Path) -> bool:
    try:
        with open_run(path, writable=True) as run:
            return bool(engine_of(run).verify(run, None, 50, REFERENCE, QuietContext())["differing"])
    except ClalignError:
        return True


def unnoticed(folder: Path) -> list[str]:
    sound, path = folder / "run.clalign", folder / "changed.clalign"
    found = []
    for name, statement in changed(sound):
        shutil.copy(sound, path)
        connection = sqlite3.connect(path)
        connection.create_function("changed", 1, with_another_byte)
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError:  # a key that is not shifted as a whole
            connection.execute(statement.replace(" + 1", " + 1000"))
        has_changed = connection.total_changes
        connection.commit()
        connection.close()
        if has_changed and path.read_bytes() != sound.read_bytes() and not is_noticed(path):
            found.append(name)
    return found


@pytest.mark.thorough(kind=["sw"])
@pytest.mark.exhaustive(kind=[kind for kind in KINDS if kind != "hmmscan"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_any_column_is_noticed(kind: str, tmp_path: Path) -> None:
    KINDS[kind](tmp_path)
    shutil.copy(tmp_path / "run.clalign", tmp_path / "changed.clalign")
    assert not is_noticed(tmp_path / "changed.clalign"), "nothing was changed"
    assert unnoticed(tmp_path) == []
