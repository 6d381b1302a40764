"""Substitution matrices by name, from files, and the gap costs that go with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from Bio.Align import substitution_matrices

from clalign.errors import OptionError
from clalign.formats.matrices import (
    NOT_OF_LETTERS,
    OWN_NAMES,
    load_matrix,
    matrix_names,
    missing_letters,
    read_matrix,
    usual_gaps,
)
from clalign.values.alphabets import code_of
from clalign.values.karlin_altschul import blast_parameters, published_parameters, ungapped_parameters
from clalign.values.scoring import GapCosts, SubstitutionMatrix
from tests.formats.samples import MATRIX


def test_every_matrix_of_biopython_is_there() -> None:
    theirs = set(substitution_matrices.load()) - set(NOT_OF_LETTERS)
    assert matrix_names() == sorted(theirs | set(OWN_NAMES))
    assert not theirs & set(OWN_NAMES)
    assert set(matrix_names(True)) | set(matrix_names(False)) == set(matrix_names())


def test_pam120_lies_between_its_neighbors() -> None:
    matrix = load_matrix("pam120")
    letters = [code_of(letter) for letter in "ARNDCQEGHILKMFPSTWYV"]
    scores = matrix.scores[np.ix_(letters, letters)].astype(int)
    assert (matrix.least, matrix.greatest, scores[0, 0], scores[17, 17]) == (-8, 12, 3, 12)
    assert np.array_equal(scores, scores.T)
    entropies = [parameters.h for name in ("PAM70", "PAM120", "PAM250")
                 if (parameters := ungapped_parameters(load_matrix(name)))]  # fmt: skip
    assert entropies == sorted(entropies, reverse=True)
    assert len(set(entropies)) == 3


@pytest.mark.parametrize("name", sorted(set(matrix_names()) - set(OWN_NAMES)))
def test_scores_are_those_of_biopython(name: str) -> None:
    ours, theirs = load_matrix(name.lower()), substitution_matrices.load(name)
    factor = float(ours.name.split(" x ")[1]) if " x " in ours.name else 1.0
    codes = [code_of(letter) for letter in theirs.alphabet]
    difference = np.abs(ours.scores[np.ix_(codes, codes)] - np.array(theirs) * factor)
    whole = np.array_equal(np.rint(theirs), theirs)
    assert difference.max() <= (0.0 if whole else 0.5)
    assert factor == 1.0 or not whole
    assert ours.is_nucleic == (name in matrix_names(True))


def test_names_need_not_be_exact_in_case_and_near_ones_are_reported() -> None:
    assert load_matrix("blosum62") is load_matrix("BLOSUM62")
    assert load_matrix("dnafull").name == "NUC.4.4"
    hints = []
    for name in ("blosum61", "none.txt"):
        with pytest.raises(OptionError, match=name) as caught:
            load_matrix(name)
        hints.append(caught.value.hint)
    assert ["BLOSUM62" in hint for hint in hints] == [True, True]
    assert ["PAM250" in hint for hint in hints] == [False, True], "nothing is like the second one"


def test_a_file_may_be_asymmetric_and_say_what_unknown_letters_score(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(MATRIX)
    matrix = load_matrix(str(path))
    assert (matrix.name, matrix.letters, matrix.is_nucleic) == ("own", "AC*", True)
    a, c, w = (code_of(letter) for letter in "ACW")
    assert (matrix.scores[a, c], matrix.scores[c, a], matrix.scores[w, a], matrix.scores[w, w]) == (-1, -2, -4, 1)


def test_a_matrix_without_positive_scores_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("A C\nA -1 -1\nC -1 -1\n")
    with pytest.raises(OptionError):
        read_matrix(str(path))


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("BLOSUM45", (14, 2)), ("BLOSUM50", (13, 2)), ("BLOSUM62", (11, 1)), ("BLOSUM90", (10, 1)), ("PAM30", (9, 1)),
        ("PAM70", (10, 1)), ("PAM250", (14, 2)), ("BLASTN", (5, 2)), ("HOXD70", (400, 30)),
    ],
)  # fmt: skip
def test_customary_gap_costs(name: str, costs: tuple[int, int]) -> None:
    gaps, words = usual_gaps(load_matrix(name))
    assert gaps.blast == costs
    assert words.startswith("BLAST")


@pytest.mark.thorough
def test_every_matrix_has_gap_costs() -> None:
    for name in matrix_names():
        gaps, words = usual_gaps(load_matrix(name))
        assert gaps.next >= 1
        assert words


def test_nucleic_scores_take_costs_that_have_statistics() -> None:
    for pair in ((1, -1), (1, -2), (1, -3), (1, -5), (2, -3), (2, -7), (4, -5), (5, -4), (4, -6)):
        matrix = SubstitutionMatrix.match_mismatch(*pair)
        assert blast_parameters(matrix, usual_gaps(matrix)[0]) is not None


def test_the_blosum80_in_thirds_of_a_bit_is_not_that_of_the_tables() -> None:
    matrix = load_matrix("BLOSUM80")
    assert published_parameters(matrix, GapCosts.from_blast(10, 1)) is None
    assert "no customary ones" in usual_gaps(matrix)[1]


@pytest.mark.parametrize("name", ["BLOSUM50", "PAM250", "HOXD70"])
def test_a_copy_of_a_known_matrix_is_known_by_its_scores(name: str, tmp_path: Path) -> None:
    known, path = load_matrix(name), tmp_path / "mine.txt"
    rows = [
        f"{one} " + " ".join(str(known.scores[code_of(one), code_of(other)]) for other in known.letters)
        for one in known.letters
    ]
    path.write_text("\n".join([" ".join(known.letters), *rows]))
    copy = load_matrix(str(path))
    assert copy.name == name
    assert usual_gaps(copy) == usual_gaps(known)
    path.write_text(path.read_text().replace(rows[0], rows[0].replace(rows[0].split()[1], "3", 1)))
    assert load_matrix(str(path)).name == "mine"


def test_missing_letters() -> None:
    assert missing_letters(load_matrix("BLOSUM62"), "ACUOJX*") == "UOJ"
    assert missing_letters(SubstitutionMatrix.match_mismatch(1, -1), "ACGTUN") == "N"
