"""Run files of versions 1 to 3: what their tables are, and what each says in the tables of today."""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from functools import partial

from clalign.runs.declarations import Declaration
from clalign.runs.schema import make_tables, statements

LAST = 3
"""The last version of these."""

SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY, name TEXT, accession TEXT, description TEXT, length INTEGER, card TEXT NOT NULL,
    best TEXT NOT NULL DEFAULT 'null');
CREATE TABLE batches (
    profile INTEGER, first INTEGER, last INTEGER, cells REAL, seconds REAL, device TEXT, scores BLOB,
    survivors BLOB, n_msv INTEGER, n_bias INTEGER, n_viterbi INTEGER, n_forward INTEGER,
    n_in_16_bits INTEGER, n_in_32_bits INTEGER,
    PRIMARY KEY (profile, first));
CREATE TABLE histogram (profile INTEGER, bin INTEGER, count INTEGER, PRIMARY KEY (profile, bin));
CREATE TABLE hits (
    id INTEGER PRIMARY KEY, profile INTEGER, row INTEGER, input_index INTEGER,
    name TEXT, accession TEXT, description TEXT, length INTEGER,
    score REAL, bias REAL, evalue REAL, raw INTEGER, n_domains INTEGER,
    best_score REAL, best_evalue REAL, verified TEXT NOT NULL DEFAULT '',
    sort_key REAL, tie TEXT, log_pvalue REAL, included INTEGER,
    expected REAL, n_regions INTEGER, n_clustered INTEGER, n_overlaps INTEGER, n_envelopes INTEGER,
    msv REAL, bias_filter REAL, viterbi REAL, forward REAL,
    UNIQUE (profile, row));
CREATE INDEX hits_by_score ON hits (profile, score DESC, input_index);
CREATE INDEX hits_by_row ON hits (row);
CREATE TABLE domains (
    hit INTEGER, number INTEGER, score REAL, bias REAL, evalue REAL,
    hmm_start INTEGER, hmm_end INTEGER, ali_start INTEGER, ali_end INTEGER, env_start INTEGER, env_end INTEGER,
    raw INTEGER, states TEXT, model TEXT, match TEXT, target TEXT, posterior TEXT,
    log_pvalue REAL, accuracy REAL,
    strand INTEGER, identical INTEGER, positive INTEGER, gaps INTEGER, gap_residues INTEGER,
    PRIMARY KEY (hit, number));
CREATE TABLE messages (id INTEGER PRIMARY KEY, seconds REAL, kind TEXT, text TEXT);
CREATE TABLE verifications (id INTEGER PRIMARY KEY, seconds REAL, device TEXT, checked INTEGER, differing INTEGER,
    details TEXT);
CREATE TABLE notes (profile INTEGER, row INTEGER, text TEXT NOT NULL, PRIMARY KEY (profile, row))
"""
"""Of version 3. A file has notes from its first one on."""

ADDED = {
    2: {
        "batches": ("survivors", "n_msv", "n_bias", "n_viterbi", "n_forward"),
        "hits": ("sort_key", "tie", "log_pvalue", "included", "expected", "n_regions", "n_clustered", "n_overlaps",
                 "n_envelopes", "msv", "bias_filter", "viterbi", "forward"),
        "domains": ("log_pvalue", "accuracy"),
    },
    3: {
        "batches": ("n_in_16_bits", "n_in_32_bits"),
        "domains": ("strand", "identical", "positive", "gaps", "gap_residues"),
    },
}  # fmt: skip
"""Columns that each version added to the one before."""

_INCLUDED = (
    "(SELECT score >= coalesce(nullif(json_extract(card, '$.include_score'), 0), -9e999) FROM {profiles} AS p"
    " WHERE p.id = profile AND json_valid(card))"
)
"""Version 1 does not say which hits are significant, but from which score on they are."""

_STORED, _BY_SCORE = "coalesce(sort_key, score) AS sort_key, tie", "score AS sort_key, NULL AS tie"
"""What hits are ordered by. Where that is the score, saying so lets an index of the old tables be used."""

_EXTREME = "(SELECT id FROM {{hits}} AS one WHERE one.profile = q.id ORDER BY score {} LIMIT 1)"
_OTHERWISE = (
    f"SELECT count(*) AS count FROM {{profiles}} AS q JOIN {{hits}} AS h ON h.id IN ({_EXTREME.format('')},"
    f" {_EXTREME.format('DESC')}) WHERE coalesce(h.sort_key, h.score) IS NOT h.score OR h.tie IS NOT NULL"
)
"""How many hits, of the worst and the best of each query, are not ordered by their scores."""

SAID = {
    "facts": "SELECT name, value FROM {facts} WHERE name <> 'engine' UNION ALL SELECT 'engine', '\"{engine}\"'",
    "queries": "SELECT id, name, accession, description, length, card, best FROM {profiles}",
    "targets": "SELECT row, name, accession, description, length FROM {hits} AS h"
    " WHERE id = (SELECT min(id) FROM {hits} AS same WHERE same.row = h.row)",
    "hits": "SELECT id, profile AS query, row, input_index, score, bias, evalue, raw, n_domains AS n_parts, best_score,"
    " best_evalue, verified, {order}, log_pvalue,"
    f" coalesce(included, {_INCLUDED}) AS included FROM {{hits}}",
    "parts": "SELECT hit, number, score, bias, evalue, hmm_start AS query_start, hmm_end AS query_end,"
    " ali_start AS target_start, ali_end AS target_end, raw, states, model AS query_text, match,"
    " target AS target_text, log_pvalue FROM {domains}",
    "batches": "SELECT profile AS query, first, last, cells, seconds, device, scores FROM {batches}",
    "histogram": "SELECT profile AS query, bin, count FROM {histogram}",
    "messages": "SELECT id, seconds, kind, text FROM {messages}",
    "verifications": "SELECT id, seconds, device, checked, differing, details FROM {verifications}",
    "notes": "SELECT profile AS query, row, text FROM {notes}",
    "alignments": "SELECT 0 AS id, '' AS name, '' AS facts WHERE 0",
    "alignment_rows": "SELECT 0 AS alignment, 0 AS number, '' AS name, 0 AS start, 0 AS stop, '' AS text WHERE 0",
}
"""What stands in each table of today, as questions to those of version 3."""


def _one_line(sql: str) -> str:
    return " ".join(sql.split())


def columns_of(sql: str, table: str) -> list[str]:
    """Return the definitions in a statement that makes a table; none if it is written otherwise than here."""
    found = re.fullmatch(rf'CREATE TABLE (?:IF NOT EXISTS )?"?{table}"? ?\((.*)\)', _one_line(sql))
    return [part.strip() for part in re.split(r",(?![^(]*\))", found[1])] if found else []


_STATEMENTS = [_one_line(statement) for statement in SCHEMA.split(";")]
INDEXES = tuple(statement for statement in _STATEMENTS if statement.startswith("CREATE INDEX"))
TABLES = {
    name: columns_of(statement, name)
    for statement in _STATEMENTS
    if statement.startswith("CREATE TABLE") and (name := statement.split()[2])
}
"""Definitions of the columns of each table."""


def wrong_table(found: dict[str, str], version: int) -> str | None:
    """Return the first table of a file of an older version that has not the columns that it should have."""
    for name, known in TABLES.items():
        newer = {column for v in range(version + 1, LAST + 1) for column in ADDED[v].get(name, ())}
        columns, needed = columns_of(found.get(name, ""), name), [c for c in known if c.split()[0] not in newer]
        if name not in found and name == "notes":
            continue
        if sorted(columns) not in (sorted(needed), sorted(known)):
            return name
    return next((name for name in found if name not in TABLES), None)


def _said(connection: sqlite3.Connection, declared: Declaration, called: str) -> dict[str, str]:
    """Return the question for what stands in each table of today; `called` is put before the names of the old ones."""
    places = {"engine": declared.engine}
    for name, columns in TABLES.items():
        table = called + name
        there = {row[1] for row in sqlite3.Connection.execute(connection, f"PRAGMA table_info({table.split('.')[-1]})")}
        names = [column.split()[0] for column in columns if column.split()[0] not in ("PRIMARY", "UNIQUE")]
        lacking = ", ".join(f"NULL AS {name}" for name in names if name not in there)
        nothing = f"(SELECT {lacking} WHERE 0)"
        places[name] = nothing if not there else f"(SELECT *, {lacking} FROM {table})" if lacking else table
    otherwise = connection.execute(_OTHERWISE.format(**places)).fetchone()[0]
    places["order"] = _STORED if otherwise else _BY_SCORE
    said = SAID | {table.name: table.older for table in declared.tables if table.older}
    return {name: question.format(**places) for name, question in said.items()}


def show_as_new(connection: sqlite3.Connection, declared: Declaration) -> None:
    """Let a file that is only read look like one of today to this connection."""
    for name, question in _said(connection, declared, "main.").items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {question}")


def looks_new(connection: sqlite3.Connection) -> bool:
    """Show the tables of today where another process has brought the file up to date; return whether it has."""
    ask = partial(sqlite3.Connection.execute, connection)
    views = ask("SELECT name FROM temp.sqlite_master WHERE type = 'view'").fetchall()
    if not views or ask("PRAGMA user_version").fetchone()[0] <= LAST:
        return False
    for (name,) in views:
        ask(f"DROP VIEW temp.{name}")
    return True


def show_first_note(connection: sqlite3.Connection) -> None:
    """Let a connection to a file that had no notes when it was opened find those that have come since."""
    listed = "SELECT count(*) AS count FROM {} WHERE name = 'notes'"
    is_shown, is_there = (
        connection.execute(listed.format(f"{place}.sqlite_master")).fetchone()[0] for place in ("temp", "main")
    )
    if is_shown and is_there:
        connection.execute("DROP VIEW temp.notes")
        connection.execute(f"CREATE TEMP VIEW notes AS {SAID['notes'].format(notes='main.notes')}")


def upgrade(connection: sqlite3.Connection, declared: Declaration) -> None:
    """Bring a writable file up to date, in one transaction."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] > LAST:
            return  # by another process, in the meantime
        there = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
        for index in INDEXES:
            connection.execute(f"DROP INDEX IF EXISTS {index.split()[2]}")
        old = [name for name in TABLES if name in there]
        for name in old:
            connection.execute(f"ALTER TABLE {name} RENAME TO old_{name}")
        connection.execute("CREATE INDEX old_hits_by_row ON old_hits (row)")
        make_tables(connection, declared)
        for name, question in _said(connection, declared, "old_").items():
            if name in statements(declared):
                connection.execute(f"INSERT INTO {name} {question}")
        for name in old:
            connection.execute(f"DROP TABLE old_{name}")
    with suppress(sqlite3.OperationalError):  # without room for a copy, or while others read, it keeps its empty pages
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
        connection.execute("VACUUM")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
