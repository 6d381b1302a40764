"""Make a library of HMMER3 models as large as Pfam out of some real ones, seeded.

The first models are the real ones. Each further one is made of the nodes of one of them: its length is drawn
anew (nodes are left out, or come twice), and its emissions are mixed with a little of another node's. One in
eight keeps the order of the nodes, and finds what its original finds; of the others the nodes are shuffled in
short blocks, and they find next to nothing, as most of Pfam's families do in one proteome. Score statistics are
the original's: they hang on length and information, which hardly change. Names and accessions are all different.

    python benchmarks/pfam_like.py --profiles real.hmm --models 20000 --output pfam_like.hmm
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

SEED = 15

KIN = 8
"""One in so many models keeps the order of its original's nodes."""

BLOCK = 3
"""Nodes that stay together where they are shuffled."""

MIXED = 0.15
"""Share of another node's emissions, at most."""

Logs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Original:
    """A real model: its lines before the nodes, its node 0, and its nodes.

    Attributes
    ----------
    head : list of str
    start : list of str
        The lines of node 0.
    match : float64[M, K]
        Negative logarithms.
    tails : list of str
        The annotation of each node.
    rest : list of (str, str)
        The lines of insertions and of transitions of each node.
    """

    head: list[str]
    start: list[str]
    match: Logs
    tails: list[str]
    rest: list[tuple[str, str]]

    @classmethod
    def of(cls, record: str) -> Original:
        """Read a record of HMMER3/b to HMMER3/f."""
        lines = record.splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith("HMM ")) + 2
        n_start = 3 if lines[at].split()[0] == "COMPO" else 2
        nodes = lines[at + n_start :]
        match, tails, rest, end = [], [], [], len(lines[at - 2].split())  # the word HMM, and the residues
        for k in range(0, len(nodes) - 2, 3):
            words = nodes[k].split()
            match.append([np.inf if word == "*" else float(word) for word in words[1:end]])
            tails.append(" ".join(words[end + 1 :]))
            rest.append((nodes[k + 1], nodes[k + 2]))
        return cls(lines[:at], lines[at : at + n_start], np.array(match), tails, rest)

    def varied(self, number: int, rng: np.random.Generator) -> str:
        """Return a record that is made of this one."""
        m = len(self.match)
        length = max(5, min(2 * m, round(m * float(np.exp(rng.normal(0.0, 0.35))))))
        order = np.sort(rng.choice(m, length, replace=length > m))
        if number % KIN:
            blocks = np.array_split(order, max(1, length // BLOCK))
            order = np.concatenate([blocks[k] for k in rng.permutation(len(blocks))])
        share = rng.random((length, 1)) * MIXED
        mixed = (1 - share) * np.exp(-self.match[order]) + share * np.exp(-self.match[rng.integers(0, m, length)])
        logs = -np.log(mixed / mixed.sum(axis=1, keepdims=True))
        out = [self._renamed(line, number, length) for line in self.head] + self.start
        for k, (node, row) in enumerate(zip(order.tolist(), logs, strict=True), 1):
            numbers = "  ".join(f"{value:.5f}" for value in row)
            out.append(f"{k:7d}   {numbers} {k:6d} {self.tails[node]}")
            inserted, steps = self.rest[node if node < m - 1 else m - 2]
            out += [inserted, self.rest[-1][1] if k == length else steps]
        return "\n".join([*out, "//", ""])

    @staticmethod
    def _renamed(line: str, number: int, length: int) -> str:
        tag = line.split(None, 1)[0]
        if tag == "NAME":
            return f"{line}_{number}"
        return {"ACC": f"ACC   PX{number:05d}.1", "LENG": f"LENG  {length}"}.get(tag, line)


def library(text: str, n: int) -> Iterator[str]:
    """Yield the records of the real models, and then of models made of them, `n` in all."""
    records = [
        record.lstrip("\n") + "//\n" for record in re.split(r"^//\n", text, flags=re.MULTILINE) if record.strip()
    ]
    originals = [Original.of(record) for record in records]
    originals = [original for original in originals if len(original.match) > 5]
    seen: set[str] = set()
    for number, record in enumerate(records[:n]):
        named = {
            tag: found[0] for tag in ("NAME", "ACC") if (found := re.findall(rf"^{tag} .*$", record, re.MULTILINE))
        }
        for tag, line in named.items():
            if line in seen:  # hmmpress takes no name twice, nor an accession
                record = record.replace(
                    line, f"NAME  {line.split()[1]}_{number}" if tag == "NAME" else f"ACC   PX{number:05d}.1"
                )
            seen.add(line)
        yield record
    for number in range(len(records), n):
        rng = np.random.default_rng([SEED, number])
        yield originals[int(rng.integers(len(originals)))].varied(number, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, required=True, help="models of HMMER3/f, as hmmconvert writes them")
    parser.add_argument("--models", type=int, default=20_000)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    with options.output.open("w", encoding="utf-8") as out:
        out.writelines(library(options.profiles.read_text("utf-8"), options.models))


if __name__ == "__main__":
    main()
