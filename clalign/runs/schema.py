"""The tables of a run file, and files of an older version."""

from __future__ import annotations

import sqlite3

SCHEMA_VERSION = 3
"""2: what HMMER3 says of hits and domains, and what passed its filters. 3: alignments of two sequences."""

APPLICATION_ID = 0x636C616C  # "clal"

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
"""
"""Hits are listed by profile, falling `sort_key`, `tie` and place in the input."""

_ADDED = {
    2: {
        "batches": ("survivors BLOB", "n_msv INTEGER", "n_bias INTEGER", "n_viterbi INTEGER", "n_forward INTEGER"),
        "hits": (
            "sort_key REAL", "tie TEXT", "log_pvalue REAL", "included INTEGER", "expected REAL", "n_regions INTEGER",
            "n_clustered INTEGER", "n_overlaps INTEGER", "n_envelopes INTEGER", "msv REAL", "bias_filter REAL",
            "viterbi REAL", "forward REAL",
        ),
        "domains": ("log_pvalue REAL", "accuracy REAL"),
    },
    3: {
        "batches": ("n_in_16_bits INTEGER", "n_in_32_bits INTEGER"),
        "domains": (
            "strand INTEGER", "identical INTEGER", "positive INTEGER", "gaps INTEGER", "gap_residues INTEGER",
        ),
    },
}  # fmt: skip
"""Columns that each version added to the one before."""


def added_since(version: int) -> dict[str, list[str]]:
    """Return the columns that a file of an older version lacks."""
    found: dict[str, list[str]] = {}
    for tables in (_ADDED[newer] for newer in range(version + 1, SCHEMA_VERSION + 1)):
        for table, columns in tables.items():
            found.setdefault(table, []).extend(columns)
    return found


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new run file."""
    connection.executescript(SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.commit()


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a writable file of an older version up to date."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version >= SCHEMA_VERSION:
            return  # by another process, in the meantime
        for table, columns in added_since(version).items():
            for column in columns:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        if version < 2:
            connection.execute("UPDATE hits SET sort_key = score")
            connection.execute("CREATE INDEX hits_by_row ON hits (row)")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def show_as_new(connection: sqlite3.Connection) -> None:
    """Let a file of an older version that cannot be written look like one of this version to this connection."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for table, columns in added_since(version).items():
        names = [column.split()[0] for column in columns]
        added = ", ".join(f"{'score' if name == 'sort_key' else 'NULL'} AS {name}" for name in names)
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT *, {added} FROM main.{table}")
