"""A search on an OpenCL device computes nothing with the oracle that its results are held against."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clalign.databases.examples import load_examples
from clalign.values.devices import Device

PROGRAM = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name == "clalign.reference" or name.startswith("clalign.reference."):
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
import clalign

verb, queries, targets, run, device = sys.argv[1:]
with getattr(clalign, verb)(queries, targets, run, device=device) as found:
    print(len(list(found.hits())))
"""


def hits_without_reference(verb: str, queries: Path, targets: Path, run: Path, device: str) -> int:
    """Return how many hits a search has in a child process that cannot import the oracle."""
    words = [sys.executable, "-c", PROGRAM, verb, str(queries), str(targets), str(run), device]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise ImportError(done.stderr)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("verb", "queries"), [("hmmsearch", "rrm_1"), ("hmmsearch", "rrm_1_hmmer3"), ("sw", "three_proteins.fasta")]
)
def test_search_without_reference(opencl_device: Device, tmp_path: Path, verb: str, queries: str) -> None:
    examples = {example.id: example for example in load_examples()}
    targets = examples["rrm_1"].targets
    assert targets is not None
    file = examples[queries].profiles if queries in examples else targets.parent / queries
    assert hits_without_reference(verb, file, targets, tmp_path / "run.clalign", opencl_device.id) > 0


def test_planted_use_of_the_reference_is_found(tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    assert example.targets is not None
    with pytest.raises(ImportError, match=r"clalign\.reference is blocked"):
        hits_without_reference("hmmsearch", example.profiles, example.targets, tmp_path / "run.clalign", "reference")
