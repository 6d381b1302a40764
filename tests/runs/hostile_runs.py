"""Run files that are damaged in known ways, and all that is done with run files.

``python -m tests.runs.hostile_runs [--seed N] [--count N] [--shard K/N]`` tries many, and prints what was neither
answered nor refused.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clalign
from clalign.cli.watch import summary
from clalign.cli.worker import JOBS_OF_RUNS
from clalign.common.amounts import rate_of_finished
from clalign.compute.opencl.choice import Devices
from clalign.databases.examples import load_examples
from clalign.engines.engine import engine_of, explain_in_run, spec_of
from clalign.engines.export import export
from clalign.engines.merging import Merging, merge_runs
from clalign.engines.pictures import KINDS, PictureRequest
from clalign.engines.plan7.hmmer3.funnel import funnel_of, survivors_at
from clalign.errors import ClalignError, OptionError
from clalign.jobs import Job, QuietContext
from clalign.runs.run_file import open_run, write_note
from clalign.tools import library
from clalign.tools.painting import write_picture
from clalign.values.checked import plain
from clalign.values.devices import REFERENCE
from tests.computing import compute_search


def bomb(n_blocks: int) -> bytes:
    """Return what grows by a mebibyte of zeros for each block; all are packed alike, without knowing of each other."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = (n_blocks * 2**20 % 65521) << 16 | 1  # Adler-32 of zeros
    return b"\x78\xda" + n_blocks * block + zlib.compressobj(wbits=-15).flush() + checksum.to_bytes(4, "big")


MAX_SECONDS = 900.0
"""Time of a case (s)."""

BOMB = bomb(2**8)

VALUES: tuple[Any, ...] = (
    None, "text", "a\nb", "", -5, -1, 0, 7, 2**31, 2**62, -(2**63), 1e300, -1e300, float("inf"), float("-inf"), 0.5,
    b"\x00\xff", "[" * 3000, BOMB, "9" * 5000,
)  # fmt: skip

TABLES = (
    "facts", "queries", "targets", "batches", "hits", "parts", "messages", "verifications", "notes",
    "alignments", "alignment_rows", "plan7_hits", "plan7_domains", "plan7_batches", "pairwise_alignments",
    "pairwise_batches", "msa_sequences", "msa_pairs", "msa_counts", "msa_posteriors", "msa_annealing",
)  # fmt: skip

JSON_VALUES: tuple[Any, ...] = (
    None, "text", -5, 2**70, 1e308, float("nan"), float("inf"), True, [], [1, "a"], {}, {"a": {}}, "/dev/zero", "a\nb",
)  # fmt: skip

SCRIPTS = (
    "DROP TABLE facts; CREATE VIEW facts AS WITH RECURSIVE n(name, value) AS (SELECT 'a', '1' UNION ALL SELECT name,"
    " value FROM n) SELECT * FROM n",
    "DROP TABLE hits; CREATE VIEW hits AS SELECT 1 AS id",
    "DROP TABLE messages",
    "DROP TABLE parts; CREATE VIRTUAL TABLE parts USING fts5(hit, number)",
    "CREATE TRIGGER t AFTER UPDATE ON hits BEGIN DELETE FROM parts; END",
    "CREATE TABLE extra (a)",
    "ALTER TABLE hits ADD COLUMN more TEXT",
    "ALTER TABLE hits ADD COLUMN twice INTEGER GENERATED ALWAYS AS (score * 2)",
    "CREATE INDEX odd ON hits (abs(score))",
    "UPDATE batches SET last = last + 1000000000000",
    "UPDATE batches SET first = first - 1",
    "INSERT INTO batches SELECT query, first + 1, last, cells, seconds, device, scores, bins FROM batches LIMIT 1",
    "UPDATE hits SET query = query + 5",
    "UPDATE hits SET row = row + 1000000",
    "DELETE FROM queries",
    "UPDATE queries SET id = id + 3",
    "DELETE FROM parts",
    "DELETE FROM facts",
    "DELETE FROM targets",
    "UPDATE parts SET target_start = target_end + 5",
    "UPDATE parts SET query_text = query_text || 'A'",
    "UPDATE parts SET states = ''",
    "UPDATE parts SET query_end = 2000000000",
    "DELETE FROM queries WHERE id = 0",
    "UPDATE queries SET id = 10 - id",
    "DELETE FROM alignments",
    "UPDATE alignments SET id = id + 1",
    "UPDATE alignment_rows SET number = number + 1",
    "DELETE FROM alignment_rows WHERE number = 0",
    "UPDATE parts SET number = number + 1",
    "DELETE FROM batches WHERE first = 0",
    "UPDATE batches SET bins = x''",
    "UPDATE facts SET value = '\"stopped\"' WHERE name = 'state'",
    "PRAGMA user_version = 3",
    "PRAGMA user_version = -7",
)


@dataclass(frozen=True)
class Case:
    """One way to damage a run file."""

    name: str
    damage: Callable[[Path], None]


def make_runs(folder: Path) -> dict[str, Path]:
    """Search small files on the reference; return the run file of each kind."""
    files = {example.id: example for example in load_examples()}
    made = {}
    for kind, name in (("hmmer2", "motif"), ("hmmer3", "rrm_1_hmmer3")):
        profile, targets = folder / f"{kind}.hmm", folder / f"{kind}.fasta"
        profile.write_bytes(files[name].profiles.read_bytes())
        some = files["motif"].targets if kind == "hmmer2" else None
        targets.write_text(some.read_text() if some is not None else RRM)
        made[kind] = folder / f"{kind}.clalign"
        clalign.hmmsearch(profile, targets, made[kind], device="reference").close()
    queries, targets = folder / "queries.fasta", folder / "sequences.fasta"
    queries.write_text(">q1 one\nMKVLAAGIVLAAGIVMKVL\n>q2 two\nACDEFGHIKLMNPQRSTVWY\n")
    targets.write_text(">t1 like\nMKVLAAGIVLAAGIV\n>t2 other\nACDEFGHIKLMNPQ\n>t3\nWWWWW\n")
    made["pairwise"] = folder / "pairwise.clalign"
    clalign.sw(queries, targets, made["pairwise"], device="reference").close()
    family = folder / "family.fasta"
    family.write_text("".join(f">k{number}\n{text}\n" for number, text in enumerate(FAMILY)))
    made["msa"] = folder / "msa.clalign"
    clalign.align_many(family, made["msa"], device="reference", emissions="all", least_gap_data=10).close()
    return made


FAMILY = ("MKVLATGHEWQRIPNDFCYSTAAGKL", "MKVLSTGHDWQKIPNDFCYTAAGK", "KVMATHEWRIPDYFCWSTKAGKL")


RRM = (
    ">rrm a made-up one\nKLFVGNLPPDTTEEDLRELFSKFGEIESVKIVRDKETGKSKGFAFVEFETEEDAEKAIEALNGTELNGRKLRV\n"
    ">none nothing\nMKVLAAGIVLAAGIVMKVLWWWWPPPPGGGG\n"
)


def sql(script: str, *values: Any) -> Callable[[Path], None]:
    """Return what runs statements on a file, past every check."""

    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        with contextlib.suppress(sqlite3.IntegrityError):  # some cannot be written
            if values:
                connection.execute(script, values)
            else:
                connection.executescript(script)
            connection.commit()
        connection.close()

    return damage


def bytes_changed(seed: int, is_cut: bool) -> Callable[[Path], None]:
    """Return what cuts a file, or flips some of its bits."""

    def damage(path: Path) -> None:
        data, chance = bytearray(path.read_bytes()), random.Random(seed)
        if is_cut:
            del data[chance.randrange(len(data)) :]
        for _ in range(0 if is_cut else chance.choice((1, 4, 40))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(data))

    return damage


def places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a JSON document."""
    yield way
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*way, key))
    elif isinstance(data, list) and data:
        yield from places(data[0], (*way, 0))


def replaced(data: Any, way: tuple[Any, ...], value: Any, is_gone: bool) -> Any:
    """Return a document with another value at a place, or without it."""
    if not way:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    if len(way) == 1 and is_gone:
        del copy[way[0]]
    else:
        copy[way[0]] = replaced(data[way[0]], way[1:], value, is_gone)
    return copy


def cases(path: Path, n_flipped: int = 60) -> list[Case]:
    """Return every way to damage this run file that is tried."""
    connection = sqlite3.connect(path)
    found = [Case(script[:60], sql(script)) for script in SCRIPTS]
    for table in TABLES:
        for column in [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]:
            for value in VALUES:
                words = f"UPDATE OR REPLACE {table} SET {column} = ?"
                found.append(Case(f"{table}.{column} = {str(value)[:20]!r}", sql(words, value)))
    documents = [("facts", "value", "name", *row) for row in connection.execute("SELECT name, value FROM facts")]
    documents += [("queries", "card", "id", *row) for row in connection.execute("SELECT id, card FROM queries")][:1]
    scripts = [f"DELETE FROM facts WHERE name = '{row[3]}'" for row in documents if row[0] == "facts"]
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[2] == "INTEGER"]
        scripts += [f"DELETE FROM {table} WHERE rowid = (SELECT {end}(rowid) FROM {table})" for end in ("min", "max")]
        scripts += [f"UPDATE OR IGNORE {table} SET {name} = {name} + {n}" for name in columns for n in (1, 1000)]
    found += [Case(script, sql(script)) for script in scripts]
    connection.close()
    for table, column, key, number, text in documents:
        words = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
        for way in places(json.loads(text)):
            for value in (*JSON_VALUES, ...):
                changed = json.dumps(replaced(json.loads(text), way, None if value is ... else value, value is ...))
                name = f"{table} {number} {'.'.join(map(str, way))} = {str(value)[:20]!r}"
                found.append(Case(name, sql(words, changed, number)))
    found += [Case(f"cut {n}", bytes_changed(n, True)) for n in range(n_flipped // 3)]
    return found + [Case(f"flipped {n}", bytes_changed(n, False)) for n in range(n_flipped)]


def uses(path: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield all that the command line and the library do with a run file."""
    out, context = path.with_suffix(".out"), QuietContext()

    def each_hit() -> None:
        with open_run(path) as run:
            for number in range(len(run.cards())):
                list(run.hits(number)), run.histogram(number), run.best(number), list(run.scores(number))
                if engine_of(run).name == "plan7":
                    funnel_of(run, number), survivors_at(run, number, "msv", True)
            for alignment in run.alignments():
                run.alignment_rows(alignment.id)
            run.messages(), run.verifications(), run.notes(), run.work_done()

    def verify() -> None:
        with open_run(path, writable=True) as run:
            engine_of(run).verify(run, None, 3, REFERENCE, context)

    def resume() -> None:
        with open_run(path, writable=True) as run:
            declared = [table.name for table in run.connection.declared.tables if table.of != "unfinished"]
            for table in ("batches", "targets", "hits", "parts", *declared):
                run.connection.execute(f"DELETE FROM {table}")
            run.connection.commit()
            compute_search(run, spec_of(run), lambda _: REFERENCE, context)

    def align() -> None:
        with open_run(path, writable=True) as run:
            for table in ("alignments", "alignment_rows", "msa_annealing"):
                run.connection.execute(f"DELETE FROM {table}")
            run.connection.execute("UPDATE queries SET best = 'null'")
            run.connection.commit()
            compute_search(run, spec_of(run), lambda _: REFERENCE, context)

    yield "read", each_hit
    yield "note", lambda: write_note(path, 0, 0, "a note")
    for what in exports(path):
        yield f"export {what}", lambda what=what: exported(path, what, out)
    for kind in KINDS:
        yield f"picture {kind}", lambda kind=kind: painted(path, kind, out.with_suffix(".tsv"))
    for kind in ("list", "compare", "name"):
        yield f"runs {kind}", lambda kind=kind: looked_at(path, kind)
    yield "window", lambda: opened_in_window(path)
    yield "resume --dry-run", lambda: resumed(path, True, context)
    yield "resume as it is", lambda: resumed(path, False, context)
    yield "merge", lambda: merged(path, out, context)
    yield "verify", verify
    is_msa = "probs" in exports(path)
    yield "explain", lambda: explain_in_run(path, 0, int(is_msa), lambda _: REFERENCE, context)
    yield "resume", resume
    if is_msa:
        yield "align", align
        yield "anneal", lambda: annealed(path, out.with_suffix(".clalign2"))
        new = clalign.Sequence.from_text("new", FAMILY[0][5:])
        yield "add", lambda: clalign.add(path, new, out.with_suffix(".sto"), device="reference")
        yield "realign", lambda: clalign.realign(path, range(3, 9), out.with_suffix(".sto"), device="reference")


def painted(path: Path, kind: str, out: Path) -> None:
    """Write the numbers behind a picture."""
    with open_run(path) as run, contextlib.suppress(OptionError):
        write_picture(run, PictureRequest(kind), str(out))


def looked_at(path: Path, what: str) -> None:
    """Do what ``clalign runs`` does."""
    if what == "list":
        library.look_at(path)
    elif what == "compare":
        library.compare(path, path)
    else:
        library.rename(path, "a name")


def opened_in_window(path: Path) -> None:
    """Read what the window shows of a run."""
    with open_run(path) as run:
        facts = run.facts
        if (done := facts.finished) is not None and facts.state == "done":
            rate_of_finished(done)
        plain(facts), run.cards_without_curves()


def resumed(path: Path, is_dry: bool, context: QuietContext) -> None:
    """Go on with a run as the worker does."""
    value = JOBS_OF_RUNS["resume"](
        {"run": str(path), "device": "reference", "dry_run": is_dry}, Job(lambda event: None), Devices()
    )
    if not is_dry and value:
        summary(value)


def merged(path: Path, out: Path, context: QuietContext) -> None:
    """Merge a run with itself, which is no part of a search and so refused in any case."""
    with contextlib.suppress(ClalignError):
        merge_runs([path, path], out, Merging("reference", lambda _: REFERENCE, context))


def annealed(path: Path, new: Path) -> None:
    """Begin again with another gap factor."""
    new.unlink(missing_ok=True)
    with open_run(path) as run:
        engine = engine_of(run)
    engine.begin_again(path, new, 0.5)


def exported(path: Path, what: str, out: Path) -> None:
    """Export something; hits of several queries, or of none, are no alignment, and few runs have rounds."""
    try:
        export(path, what, out)
    except OptionError:
        if what not in ("afa", "a2m", "a3m", "chkhmm", "chkali"):
            raise


def exports(path: Path) -> list[str]:
    """Return what can be exported; some of it if the file does not say what it is."""
    try:
        with open_run(path) as run:
            return [one.name for one in engine_of(run).exports]
    except ClalignError:
        return ["text", "tsv"]


def tried(original: Path, case: Case, more: Callable[[Path], Iterator[tuple[str, Callable[[], object]]]]) -> list[str]:
    """Damage a copy of a run file, use it, and return what was neither answered nor refused."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(original, folder))
        case.damage(path)
        damaged = path.read_bytes()
        for name, use in more(path):
            path.write_bytes(damaged)
            began = time.process_time()
            try:
                use()
            except ClalignError:
                pass
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(place.filename).name}:{place.lineno}"
                wrong.append(f"{case.name}: {name}: {type(error).__name__}: {str(error)[:80]} at {where}")
            if (took := time.process_time() - began) > 30:
                wrong.append(f"{case.name}: {name}: took {took:.0f} s of the processor")
    return wrong


def main() -> None:
    """Try many cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--kind", default="")
    parser.add_argument("--shard", default="1/1", help="each Nth case from the Kth on")
    wishes = parser.parse_args()
    shard, n_shards = map(int, wishes.shard.split("/"))
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in make_runs(Path(folder)).items():
            if wishes.kind not in ("", kind):
                continue
            chosen = cases(path)
            random.Random(wishes.seed).shuffle(chosen)
            chosen, n_cases = chosen[: wishes.count][shard - 1 :: n_shards], len(chosen)
            sys.stdout.write(f"{kind}: {len(chosen)} of {n_cases} cases\n")
            for number, case in enumerate(chosen):
                if number % 100 == 0:
                    sys.stdout.write(f"{kind}: {number} done\n")
                    sys.stdout.flush()
                faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)  # an endless loop is shown
                for line in tried(path, case, uses):
                    sys.stdout.write(f"{kind}: {line}\n")


if __name__ == "__main__":
    main()
