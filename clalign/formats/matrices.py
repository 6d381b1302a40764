"""Substitution matrices by name or from text files as the NCBI writes them, and the gap costs that go with them."""

from __future__ import annotations

import difflib
import importlib.util
import math
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.common.amounts import size_text
from clalign.errors import InputError, OptionError, quoted
from clalign.formats.numbers import whole
from clalign.formats.sources import decoded, head_of, opened
from clalign.values.alphabets import code_of
from clalign.values.karlin_altschul import (
    blast_parameters,
    match_mismatch_of,
    published_parameters,
    ungapped_parameters,
)
from clalign.values.karlin_altschul_tables import NUCLEIC, USUAL_GAPS
from clalign.values.scoring import MAX_SCORE, GapCosts, SubstitutionMatrix

NUCLEIC_NAMES = ("BLASTN", "HOXD70", "MEGABLAST", "NUC.4.4", "TRANS")

NOT_OF_LETTERS = ("SCHNEIDER",)
"""Matrices that are not of letters but of codons."""

OTHER_NAMES = {"NUC44": "NUC.4.4", "DNAFULL": "NUC.4.4", "EDNAFULL": "NUC.4.4", "GONNET": "GONNET1992"}

OWN_NAMES = ("PAM120",)
"""Matrices that come with the program, because Biopython lacks them."""

DEFAULT_PROTEIN = "BLOSUM62"
DEFAULT_MATCH, DEFAULT_MISMATCH = 2, -3
"""Defaults of BLAST for proteins and for nucleic acids."""

FACTORS = (1, 10, 100, 50, 20, 5, 2)
"""Fractions are multiplied by the first of these that makes whole numbers, or else by the largest that fits a byte."""

BASES = frozenset("ACGTURYMKSWHBVDNX*-")

BLAST_NUCLEIC = (5, 2)
BLASTZ = {"HOXD70": (400, 30)}

MIN_SIMILARITY = 0.7
"""Least ratio of `difflib` at which a name is taken for a misspelled other."""

MAX_MATRIX_BYTES = 1 << 20
"""Limit of the size of a file with a matrix, in bytes."""

FORM = "Give a matrix in the NCBI's format: a line of letters, then a line for each letter with its scores."

BLOSUM62_GAPS = (3.494, 0.3176)
"""Opening and extension of BLOSUM62's 11/1 in natural units, for matrices without customary costs."""


def matrix_names(is_nucleic: bool | None = None) -> list[str]:
    """Return the names of the matrices of Biopython and of the program, of proteins, of nucleic acids, or of both."""
    names = [path.name for path in _folder().iterdir() if path.name not in NOT_OF_LETTERS]
    names = sorted({*names, *OWN_NAMES})
    names = [name for name in names if name == name.upper() and not name.startswith((".", "_"))]
    return [name for name in names if is_nucleic is None or (name in NUCLEIC_NAMES) == is_nucleic]


def _folder() -> Path:
    """Return the folder of Biopython's matrices; importing what reads them would take longer than a search."""
    package = importlib.util.find_spec("Bio")
    if package is None or package.origin is None:
        raise OptionError("Biopython, which has the matrices, is not installed.", "Install it: pip install biopython")
    return Path(package.origin).parent / "Align" / "substitution_matrices" / "data"


def load_matrix(name: str) -> SubstitutionMatrix:
    """Return a matrix by its name, written in any case, or from a file in the NCBI's format.

    Raises
    ------
    OptionError
        If there is no such matrix and no such file.
    InputError
        If the file is no such matrix.
    """
    names = _names()
    found = names.get(name.upper())
    if found is not None:
        return _known(found)
    if is_matrix_file(name):
        return read_matrix(name)
    near = difflib.get_close_matches(name.upper(), names, 3, MIN_SIMILARITY)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The matrices are: {', '.join(matrix_names())}."
    raise OptionError(f"There is no matrix and no file named {quoted(name, 200)}.", hint)


def _names() -> dict[str, str]:
    return {known.upper(): known for known in matrix_names()} | OTHER_NAMES


def is_matrix_file(name: str) -> bool:
    """Return whether a user's word for a matrix is a file rather than a known name."""
    if name.upper() in _names():
        return False
    try:
        return Path(name).exists()
    except OSError:  # a name that no file can have
        return False


@lru_cache(maxsize=32)
def _known(name: str) -> SubstitutionMatrix:
    folder = files("clalign.resources") / "matrices" if name in OWN_NAMES else _folder()
    (_, letters), *lines = _lines((folder / name).read_text("utf-8"))
    table = np.array([[float(value) for value in words[1:]] for _, words in lines])
    factor = _factor(table)
    shown = name if factor == 1 else f"{name} x {factor}"
    whole = np.rint(table * factor).astype(np.int64)
    return SubstitutionMatrix.from_table(shown, "".join(letters), whole, name in NUCLEIC_NAMES)


def _factor(table: npt.NDArray[np.float64]) -> int:
    """Return the factor that makes whole numbers that fit a byte of fractions."""
    fitting = [factor for factor in FACTORS if np.rint(np.abs(table).max() * factor) <= MAX_SCORE]
    whole = [factor for factor in fitting if np.allclose(np.rint(table * factor), table * factor, atol=1e-6)]
    return next(iter(whole), max(fitting))


def read_matrix(path: str) -> SubstitutionMatrix:
    """Return the matrix in a text file: a line of letters, then a line for each letter with its scores.

    Lines that begin with ``#`` are comments. If its scores are those of a matrix that BLAST knows, it gets that one's
    name, by which its gap costs and statistics are found; else the file's name without its ending.

    Raises
    ------
    InputError
        With the line where it is not such a matrix.
    """
    lines = _lines(_text_of(path))
    number, letters = next(lines, (1, []))
    if not letters:
        raise InputError(path, "there is no matrix in this file.", FORM)
    columns = [letter.upper() for letter in letters]
    wrong = next((c for c in columns if len(c) != 1 or not (c.isalpha() or c in "*-") or not c.isascii()), None)
    if wrong is not None:
        raise InputError(path, f"a letter was expected instead of {quoted(wrong)}.", FORM, number)
    repeated = next((c for i, c in enumerate(columns) if c in columns[:i]), None)
    if repeated is not None:
        raise InputError(path, f"the letter {repeated} occurs twice.", "Remove one of them.", number)
    rows: dict[str, list[int]] = {}
    for line, words in lines:
        letter, scores = _row(path, line, words, columns)
        if letter in rows:
            raise InputError(path, f"the letter {letter} has two lines.", "Remove one of them.", line)
        rows[letter] = scores
    missing = [letter for letter in columns if letter not in rows]
    if missing:
        raise InputError(path, f"there is no line for the letter {missing[0]}.", FORM)
    name = Path(path).name.removesuffix(".txt").removesuffix(".mat")
    table = np.array([rows[letter] for letter in columns])
    matrix = SubstitutionMatrix.from_table(name, "".join(columns), table, set(columns) <= BASES)
    return replace(matrix, name=_usual_name(matrix) or name)


def _usual_name(matrix: SubstitutionMatrix) -> str | None:
    """Return the name of the matrix with customary gap costs that has the same scores, if there is one."""
    names, letters = (BLASTZ, "ACGT") if matrix.is_nucleic else (USUAL_GAPS, "ACDEFGHIKLMNPQRSTVWY")
    if not set(letters) <= set(matrix.letters):
        return None
    codes = [code_of(letter) for letter in letters]
    square = np.ix_(codes, codes)
    alike = (name for name in names if np.array_equal(matrix.scores[square], _known(name).scores[square]))
    return next(alike, None)


def _text_of(path: str) -> str:
    with opened(path) as source:
        head = head_of(source, MAX_MATRIX_BYTES + 1)
    if len(head) > MAX_MATRIX_BYTES:
        raise InputError(path, f"this file is longer than {size_text(MAX_MATRIX_BYTES)}, too long for a matrix.", FORM)
    return decoded(head)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and words of each line that is neither blank nor a comment."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if words:
            yield number, words


def _row(path: str, number: int, words: list[str], columns: list[str]) -> tuple[str, list[int]]:
    """Return the letter of a line and its scores."""
    letter, values = words[0].upper(), words[1:]
    if letter not in columns:
        reason = f"the line begins with {quoted(words[0])}, which is not among the letters in the first line."
        raise InputError(path, reason, "Add it to the first line, or remove this line.", number)
    if len(values) != len(columns):
        raise InputError(
            path,
            f"the line has {len(values)} scores instead of {len(columns)}.",
            "Give a score for each letter.",
            number,
        )
    scores = []
    for value in values:
        score = whole(value)
        if score is None:
            hint = "Multiply all scores, for example by 10, and round them."
            raise InputError(path, f"{quoted(value)} is not a whole number.", hint, number)
        if abs(score) > MAX_SCORE:
            reason = f"the score {value} is not between -{MAX_SCORE} and {MAX_SCORE}."
            raise InputError(path, reason, "Scale all scores.", number)
        scores.append(score)
    return letter, scores


def usual_gaps(matrix: SubstitutionMatrix) -> tuple[GapCosts, str]:
    """Return the usual gap costs for a matrix, and where they come from, in words."""
    opening, extension, source = _usual_costs(matrix)
    return GapCosts.from_blast(opening, extension), source


def _usual_costs(matrix: SubstitutionMatrix) -> tuple[int, int, str]:
    if matrix.name in USUAL_GAPS:
        opening, extension = USUAL_GAPS[matrix.name]
        if published_parameters(matrix, GapCosts.from_blast(opening, extension)) is not None:
            return opening, extension, f"BLAST's for {matrix.name}"
    if matrix.name in BLASTZ:
        return *BLASTZ[matrix.name], f"BLASTZ's for {matrix.name}"
    if matrix.is_nucleic and match_mismatch_of(matrix) is not None:
        return _usual_nucleic_costs(matrix)
    exact = ungapped_parameters(matrix)
    if exact is None:
        opening = max(1, matrix.greatest)
        return opening, max(1, opening // 10), f"by the highest score of {matrix.name}, which has no customary ones"
    opening, extension = (max(1, round(cost / exact.lambda_)) for cost in BLOSUM62_GAPS)
    return opening, extension, f"as high in bits as 11/1 is for BLOSUM62, since {matrix.name} has no customary ones"


def _usual_nucleic_costs(matrix: SubstitutionMatrix) -> tuple[int, int, str]:
    equal, other = match_mismatch_of(matrix) or (1, -1)
    if blast_parameters(matrix, GapCosts.from_blast(*BLAST_NUCLEIC)) is not None:
        return *BLAST_NUCLEIC, "BLAST's for nucleic acids"
    factor = math.gcd(equal, other)
    if (equal // factor, other // factor) in NUCLEIC:
        opening, extension = (int(cost) * factor for cost in NUCLEIC[equal // factor, other // factor][1][0][:2])
        return opening, extension, f"the first in BLAST's tables for {equal:+d}/{other:+d}"
    opening = max(1, 2 * (equal - other) - 1)
    extension = max(1, -(-(equal - other) // 3))
    return opening, extension, f"by the scores {equal:+d}/{other:+d}, which have no customary ones"


def missing_letters(matrix: SubstitutionMatrix, letters: str) -> str:
    """Return those of some letters that a matrix has no scores of its own for; U and T stand for each other."""
    known = {code_of(letter) for letter in matrix.letters}
    if matrix.is_nucleic and known & {code_of("U"), code_of("T")}:
        known |= {code_of("U"), code_of("T")}
    return "".join(letter for letter in letters if code_of(letter) not in known)
