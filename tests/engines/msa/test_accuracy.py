"""What an alignment has in common with a reference: by hand, by definition, and from files."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from clalign.errors import InputError
from clalign.tools.alignment_accuracy import alignment_accuracy, compare_files
from clalign.values.multiple_alignments import MultipleAlignment
from tests.posterior_cases import random_alignment


def test_by_hand() -> None:
    """Of pairs A-A, C-C, D-D in the reference the test has A-A and D-D; C and C are alone in it."""
    reference, test = (MultipleAlignment.from_rows(rows) for rows in ([b"ACD-", b"ACDE"], [b"AC-D-", b"A-CDE"]))
    found = alignment_accuracy(test, reference)
    assert (found.common_pairs, found.reference_pairs, found.test_pairs) == (2, 3, 2)
    assert (found.common_gaps, found.n_characters) == (1, 7)
    assert (found.common_columns, found.reference_columns) == (2, 3)
    assert found.ama == pytest.approx(5 / 7)
    assert (found.sensitivity, found.ppv, found.total_column) == (pytest.approx(2 / 3), 1.0, pytest.approx(2 / 3))


def partners(alignment: MultipleAlignment) -> dict[tuple[int, int, int], int]:
    """Return the residue of each sequence beside each residue of each other one, or -1."""
    found, positions = {}, alignment.positions()
    for i, j in itertools.permutations(range(len(alignment)), 2):
        for a, b in positions[[i, j]].T.tolist():
            if a >= 0:
                found[i, a, j] = b
    return found


@pytest.mark.parametrize("seed", range(8))
def test_by_definition(seed: int) -> None:
    lengths = [7, 9, 0, 8, 6]
    test, reference = (random_alignment(number, lengths) for number in (seed, seed + 100))
    found, expected = partners(test), partners(reference)
    result = alignment_accuracy(test, reference)
    same = sum(found[key] == expected[key] for key in expected)
    assert result.ama == pytest.approx(same / len(expected))
    common = sum(found[key] == expected[key] >= 0 for key in expected) // 2
    assert result.common_pairs == common
    assert result.sensitivity == pytest.approx(2 * common / sum(b >= 0 for b in expected.values()))
    assert result.ppv == pytest.approx(2 * common / sum(b >= 0 for b in found.values()))
    columns = [{tuple(column) for column in each.positions().T.tolist()} for each in (test, reference)]
    several = {column for column in columns[1] if sum(a >= 0 for a in column) > 1}
    assert result.total_column == pytest.approx(len(several & columns[0]) / len(several))


@pytest.mark.parametrize("seed", range(8))
def test_core_blocks_by_definition(seed: int) -> None:
    """What counts is what the reference says of the residues of core blocks."""
    lengths = [7, 9, 0, 8, 6]
    test, reference = (random_alignment(number, lengths) for number in (seed, seed + 100))
    core = np.random.default_rng(seed).random(reference.n_columns) < 0.5
    result = alignment_accuracy(test, reference, core)
    found, expected = partners(test), partners(reference)
    counts = {
        (i, int(a))
        for i, row in enumerate(reference.positions())
        for a, inside in zip(row, core, strict=True)
        if inside
    }
    own = {key for key in expected if key[:2] in counts}
    assert result.n_characters == len(own)
    assert result.ama == pytest.approx(sum(found[key] == expected[key] for key in own) / len(own))
    pairs = {frozenset([(i, a), (j, b)]) for (i, a, j), b in expected.items() if (i, a, j) in own and b >= 0}
    given = {frozenset([(i, a), (j, b)]) for (i, a, j), b in found.items() if b >= 0}
    given = {pair for pair in given if pair & counts}
    assert (result.reference_pairs, result.test_pairs) == (len(pairs), len(given))
    assert result.common_pairs == len(pairs & given)
    columns = [tuple(column) for column in reference.positions().T.tolist()]
    several = {
        column for column, inside in zip(columns, core, strict=True) if inside and sum(a >= 0 for a in column) > 1
    }
    assert result.reference_columns == len(several)
    assert result.common_columns == len(several & {tuple(column) for column in test.positions().T.tolist()})


def test_core_blocks_of_files(tmp_path: Path) -> None:
    """Columns 1 and 4 in upper case alone; BAliBASE marks columns by itself."""
    test, reference = tmp_path / "test.afa", tmp_path / "reference.xml"
    test.write_text(">a\nAC-DE\n>b\nA-CDE\n")
    upper = tmp_path / "reference.afa"
    upper.write_text(">a\nAcdE\n>b\nAcDE\n")
    reference.write_text(
        "<macsim><alignment><sequence><seq-name>a</seq-name><seq-data>acde</seq-data></sequence>\n"
        "<sequence><seq-name>b</seq-name><seq-data>acde</seq-data></sequence>\n<column-score>"
        "<colsco-name>coreblock</colsco-name><colsco-data>\n1 1 -1 0\n</colsco-data></column-score>"
        "<column-score><colsco-name>other</colsco-name><colsco-data>1 1 1 1</colsco-data></column-score>"
        "</alignment></macsim>\n"
    )
    found = compare_files(str(test), str(upper), is_core=True)
    assert (found.common_pairs, found.reference_pairs, found.test_pairs, found.ama) == (2, 2, 2, 1.0)
    found = compare_files(str(test), str(reference), is_core=True)
    assert (found.common_pairs, found.reference_pairs, found.test_pairs) == (1, 2, 1)
    assert (found.ama, found.total_column) == (0.5, 0.5)
    assert compare_files(str(test), str(reference)).reference_pairs == 4
    upper.write_text(">a\nacde\n>b\nacde\n")
    with pytest.raises(InputError, match=upper.name):
        compare_files(str(test), str(upper), is_core=True)
    reference.write_text(reference.read_text().replace("1 1 -1 0", "1 1"))
    with pytest.raises(InputError, match=reference.name):
        compare_files(str(test), str(reference), is_core=True)


def test_an_alignment_equals_itself() -> None:
    alignment = random_alignment(1, [7, 9, 8])
    found = alignment_accuracy(alignment, alignment)
    assert (found.ama, found.sensitivity, found.ppv, found.total_column) == (1.0, 1.0, 1.0, 1.0)


def test_nothing_aligned_has_no_share() -> None:
    alone = MultipleAlignment.from_rows([b"A-", b"-C"])
    found = alignment_accuracy(alone, alone)
    assert found.ama == 1.0
    assert all(math.isnan(value) for value in (found.sensitivity, found.ppv, found.total_column))


def test_files_in_any_order_with_more_sequences(tmp_path: Path) -> None:
    test, reference = tmp_path / "test.sto", tmp_path / "reference.afa"
    test.write_text("# STOCKHOLM 1.0\nb A-CDE\nmore AACDE\na AC-D-\n//\n")
    reference.write_text(">a\nacD-\n>b\nACDE\n")
    found = compare_files(str(test), str(reference))
    assert (found.ama, found.ppv) == (pytest.approx(5 / 7), 1.0)
    reference.write_text(">a\nACE-\n>b\nACDE\n")
    with pytest.raises(InputError, match='"a"'):
        compare_files(str(test), str(reference))
    reference.write_text(">a\nACD-\n>c\nACDE\n")
    with pytest.raises(InputError, match='"c"'):
        compare_files(str(test), str(reference))
