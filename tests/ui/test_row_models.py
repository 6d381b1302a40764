"""Colors, orders and searches of alignments of many rows, without a window."""

from typing import Any

import numpy as np
import pytest

from clalign.errors import OptionError
from clalign.jobs import QuietContext
from clalign.ui.models.alignment.row_colors import (
    CODES,
    FIRST_COLOR,
    N_STEPS,
    PLAIN,
    QUIET,
    SCHEMES,
    Composition,
    coloring,
    ramp,
    value_coloring,
)
from clalign.ui.models.alignment.row_measures import order_by_species, order_of
from clalign.ui.models.alignment.row_search import (
    compiled,
    find_rows,
    prosite_pattern,
)
from clalign.ui.models.alignment.rows_view import RowsView
from clalign.ui.residue_colors import letter_on
from clalign.ui.theme import LIGHT, contrast
from clalign.ui.views.alignment.rows_painter import LEVELS, color_table
from clalign.values.column_statistics import N_LETTERS, count_letters
from clalign.values.row_alignments import RowAlignment, RowNotes
from clalign.values.species import SpeciesRule, Taxonomy


def composition(rows: list[bytes]) -> tuple[np.ndarray, Composition]:
    cells = np.array([list(row) for row in rows], np.uint8)
    counts = np.zeros((cells.shape[1], N_LETTERS), np.uint32)
    count_letters(cells, counts, np.zeros(len(rows), np.int64))
    return CODES[cells], Composition(counts, len(rows))


def colors(scheme: str, rows: list[bytes], nucleic: bool = False) -> list[list[str]]:
    codes, known = composition(rows)
    chosen = coloring(scheme, nucleic)
    places = chosen.places(codes, np.arange(len(rows)), np.arange(codes.shape[1]), known)
    names = {PLAIN: "", QUIET: "-", **{FIRST_COLOR + i: color for i, color in enumerate(chosen.palette)}}
    return [[names[place] for place in row] for row in places.tolist()]


BLUE, RED, MAGENTA, GREEN = "#80A0F0", "#F01505", "#C048C0", "#15C015"
CYAN, PINK, ORANGE, YELLOW = "#15A4A4", "#F08080", "#F09048", "#C0C000"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("LLLLLLLKKK", {"L": BLUE, "K": ""}),  # 70 % are hydrophobic
        ("LLLLLLKKKK", {"L": "", "K": ""}),  # 60 % are not more than 60 %
        ("KRKRKRKAAA", {"K": RED, "R": RED, "A": ""}),
        ("EEEEEEAAAA", {"E": MAGENTA, "A": ""}),  # more than half are E or Q
        ("EEQQQQAAAA", {"E": MAGENTA, "Q": GREEN}),
        ("DDDEEEAAAA", {"D": MAGENTA, "E": ""}),  # D goes with E, but E with Q
        ("NNNNNNAAAA", {"N": GREEN}),
        ("SSSTTTAAAA", {"S": GREEN, "T": GREEN, "A": ""}),
        ("SLLLLLLLLL", {"S": GREEN, "L": BLUE}),  # among hydrophobic ones
        ("HLLLLLLLLL", {"H": CYAN}),
        ("YLLLLKKKKK", {"Y": ""}),
        ("CCCCCCCCCC", {"C": PINK}),
        ("CCCCCCCCAA", {"C": BLUE}),
        ("GAAAKKKKKK", {"G": ORANGE}),
        ("PAAAKKKKKK", {"P": YELLOW}),
        ("WWWWWWW---", {"W": BLUE, "-": "-"}),
        ("WWWWWW----", {"W": ""}),  # of all rows, also of those with gaps
        ("wwwwwwwx.*", {"W": BLUE, "X": "", ".": "-", "*": ""}),
    ],
)
def test_clustal_x_colors_by_what_the_column_has(column: str, expected: dict[str, str]) -> None:
    found = colors("clustalx", [letter.encode() for letter in column])
    for letter, (color,) in zip(column.upper(), found, strict=True):
        assert color == expected.get(letter, color)


def test_identity_has_three_steps_for_the_commonest_residue() -> None:
    strong, middle, weak = coloring("identity", False).palette
    for n, color in ((9, strong), (8, middle), (7, middle), (5, weak), (4, "")):
        found = colors("identity", [b"A"] * n + [bytes([letter]) for letter in b"CDEFGHIKLM"[: 10 - n]])
        assert [row[0] for row in found] == [color] * n + [""] * (10 - n)


def test_blosum62_marks_the_commonest_residue_and_those_alike() -> None:
    same, alike = coloring("blosum62", False).palette
    assert [row[0] for row in colors("blosum62", [b"I", b"I", b"V", b"D", b"-", b"X"])] == [
        same,
        same,
        alike,
        "",
        "-",
        "",
    ]


def test_fixed_schemes_color_every_residue_in_all_columns_alike() -> None:
    for scheme in ("zappo", "taylor", "hydrophobicity", "safe"):
        (row,) = colors(scheme, [b"ACDEFGHIKLMNPQRSTVWY"])
        assert all(row), scheme
        assert colors(scheme, [b"acdefghiklmnpqrstvwy"]) == [row]
    assert all(colors("nucleotide", [b"ACGTU"], True)[0])
    assert colors("none", [b"AC-"]) == [["", "", "-"]]


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_letters_can_be_read_on_every_color(scheme: str) -> None:
    chosen = coloring(scheme, False)
    for color in chosen.palette:
        assert contrast(letter_on(color), color) >= 4.5
    assert {color for color, _ in chosen.legend} <= set(chosen.palette)


def test_values_are_colored_from_low_to_high_and_unknown_ones_grey() -> None:
    table = np.array([[0.0, 0.5, 1.0, np.nan], [0.25, np.nan, 0.75, 1.0]], np.float32)
    chosen = value_coloring("Accuracy", lambda rows, columns: table[np.ix_(rows, columns)], "rainbow")
    codes, known = composition([b"AC-D", b"A-CD"])
    places = chosen.places(codes, np.array([0, 1]), np.arange(4), known).tolist()
    low = FIRST_COLOR + 1
    assert places[0] == [low, low + round(0.5 * (N_STEPS - 1)), low + 2 * N_STEPS - 1, FIRST_COLOR]
    letter, gap = (color_table(chosen.palette, LIGHT)[place * LEVELS] for place in (low + N_STEPS - 1, places[0][2]))
    assert letter == 0xFFFD0000
    assert gap == 0xFFFEBFBF, "a gap has a quarter of the color of a letter, and the ground"
    assert places[1][1] == QUIET  # a gap without a value
    assert ramp("rainbow", 252)[0] == "#0000FB"
    assert ramp("rainbow", 252)[-1] == "#FD0000"
    low, high = ramp("safe", 252)[0], ramp("safe", 252)[-1]
    (red, _, blue), (calm_red, _, calm_blue) = (bytes.fromhex(color[1:]) for color in (low, high))
    assert red > blue, "orange is what is low"
    assert calm_blue > calm_red


def test_rows_are_sorted_by_words_as_python_does_it() -> None:
    words = ["b", "", "a", "ß", "b", "aa", "\U0010fffe", "\ud800", "z" * 40, "a"]
    for some in (words, [*words, "y" * 300], []):
        spelled = [word.encode("utf-8", "surrogatepass") for word in some]
        assert order_of(some).tolist() == sorted(range(len(some)), key=spelled.__getitem__)


def found(rows: list[bytes], text: str, mode: str) -> list[tuple[int, int, int]]:
    alignment = RowAlignment.of_rows([f"row{place}" for place in range(len(rows))], rows)
    here = find_rows(alignment, text, mode, QuietContext())
    return list(zip(here.rows.tolist(), here.begins.tolist(), here.ends.tolist(), strict=True))


def test_letters_are_found_across_gaps_and_without_case() -> None:
    assert found([b"AC--DE-F", b"--acdef-", b"ADCEF---"], "cd e", "text") == [(0, 1, 6), (1, 3, 6)]


def test_patterns_are_found() -> None:
    rows = [b"MN-GSK--", b"NPSNATNP"]
    assert found(rows, "N-{P}-[ST]-{P}", "prosite") == [(0, 1, 6), (1, 3, 7)]
    assert found(rows, "N[^P][ST]", "regex") == [(0, 1, 5), (1, 3, 6)]
    assert found(rows, "ROW1", "name") == [(1, 0, 0)]
    assert found(rows, "K$", "regex") == [(0, 5, 6)]
    assert found(rows, "<N-P", "prosite") == [(1, 0, 2)]
    assert found(rows, "x(0)", "prosite") == []


def test_prosite_patterns_as_expressions() -> None:
    assert prosite_pattern("C-x(2,4)-C-x(3)-[LIVMFYWC]-x(8)-H-x(3,5)-H.") == "C.{2,4}C.{3}[LIVMFYWC].{8}H.{3,5}H"
    assert prosite_pattern("<A-x-[ST](2)-x(0,1)-{V}>") == "^A.[ST]{2}.{0,1}[^V]$"
    assert prosite_pattern("F-[GSTV]-P-R-L-[G>]") == "F[GSTV]PRL(?:[G]|$)"


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [("C-[", "prosite", "not an element"), ("A(", "regex", "regular expression"), ("(A+)+B", "regex", "forever")],
)
def test_what_cannot_be_looked_for_is_said(text: str, mode: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compiled(text, mode)


def test_repeats_without_an_end_have_one() -> None:
    pattern = compiled(r"A.*B+C{2,}[*+]\+", "regex").pattern
    assert pattern == rb"A.{0,100}B{1,100}C{2,100}[*+]\+"


ROWS = {"beta": b"ACDEF-GH", "Alpha": b"ACDEFIGH", "gamma": b"--DQQQGH"}


@pytest.fixture
def view(qtbot: Any) -> Any:
    made = RowsView(RowAlignment.of_rows(list(ROWS), list(ROWS.values())))
    made.begin()
    qtbot.waitUntil(lambda: made.is_measured and made.is_idle)
    yield made
    made.close()


def names(view: RowsView) -> list[str]:
    return [view.name_at(place) for place in range(view.n_rows)]


def test_rows_are_sorted(qtbot: Any, view: RowsView) -> None:
    view.set_scores("Score", np.array([1.0, np.nan, 3.0], np.float32))
    for key, expected in (
        ("name", ["Alpha", "beta", "gamma"]), ("length", ["Alpha", "beta", "gamma"]),
        ("identity", ["beta", "Alpha", "gamma"]), ("Score", ["gamma", "beta", "Alpha"]),
        ("input", ["beta", "Alpha", "gamma"]),
    ):  # fmt: skip
        view.sort(key)
        qtbot.waitUntil(lambda: view.is_idle)
        assert (view.order_key, names(view)) == (key, expected)
    view.set_reference(2)
    view.sort("identity")
    qtbot.waitUntil(lambda: view.is_idle)
    assert names(view)[0] == "gamma"
    assert view.identity.tolist() == pytest.approx([3 / 6, 3 / 6, 1.0])


def test_dots_stand_where_rows_agree_with_the_reference(view: RowsView) -> None:
    view.set_reference(1)
    view.set_dots(True)
    cells = view.cells(np.arange(3), np.arange(8))
    shown = [bytes(letter or ord(".") for letter in row) for row in cells.letters.tolist()]
    assert shown == [b".....-..", b"ACDEFIGH", b"--.QQQ.."]


def test_what_is_known_about_a_cell_is_said(view: RowsView) -> None:
    first, second, color = view.describe(2, 3)
    assert first == "gamma: Q 2"
    assert "column 4 of 8" in second
    assert "E 67 %, Q 33 %" in second
    assert color == "Color-blind safe: hydrophilic (STNQ)"
    assert view.describe(2, 0)[0] == "gamma: gap after 0"
    assert view.summary().startswith("3 rows · 8 columns · protein · ")


def test_a_picture_is_of_the_view_as_it_was(view: RowsView) -> None:
    kept = view.frozen()
    view.set_scheme("zappo")
    view.order = view.order[::-1]
    assert (kept.scheme, names(kept)) == ("safe", list(ROWS))


def test_rows_of_an_alignment_stand_by_species() -> None:
    texts = ["x OS=Mus musculus OX=1", "nothing", "y OS=Homo sapiens", "z OS=mus musculus GN=a"]
    rows = RowAlignment(np.zeros((4, 1), np.uint8), [f"s{n}/1-9" for n in range(4)], texts)
    order = order_by_species(rows)
    assert order.tolist() == [2, 0, 3, 1]
    table = Taxonomy({"s1": ("Aa",), "Mus musculus": ("",)})
    looked_up = order_by_species(rows, SpeciesRule(table))
    assert looked_up.tolist() == [1, 2, 3, 0]
    assert order_by_species(RowAlignment(rows.cells[:1], ["s1"], ["nothing"])) is None
    noted = RowNotes(rows=[("s0/1-9", "OS", "Zea mays"), ("s1/1-9", "OS", "Bos taurus"), ("s1/1-9", "AC", "P1")])
    order = order_by_species(RowAlignment(rows.cells[:2], rows.names[:2], ["", "x"], noted))
    assert order.tolist() == [1, 0]
