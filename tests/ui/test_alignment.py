from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from clalign.ui.engines.plan7.layout import as_fasta, lay_out
from clalign.ui.models.alignment.alignment_layout import (
    TITLE_ROOM,
    TITLE_SHARE,
    as_text,
    ruler,
    title_lines,
)
from clalign.ui.residue_colors import RESIDUE_SCHEMES, background_of, letter_on
from clalign.ui.theme import DARK, LIGHT, Tokens, contrast


def made_hit(fake: ModuleType):
    return fake.made_up_hit(3, 42.0, np.random.default_rng(1))


@pytest.mark.parametrize("width", [10, 17, 30, 200])
def test_wrapped_lines_hold_the_whole_alignment(fake: ModuleType, width: int) -> None:
    hit = made_hit(fake)
    lines = [line for line in lay_out(hit, "Made", width) if line.domain == 0]
    for kind in ("model", "match", "target"):
        assert "".join(line.text for line in lines if line.kind == kind) == getattr(hit.domains[0].text, kind)
    assert all(len(line.text) <= width for line in lines if line.kind != "title")


def test_numbers_count_residues_and_nodes(fake: ModuleType) -> None:
    hit = made_hit(fake)
    lines = [line for line in lay_out(hit, "Made", 10) if line.domain == 0]
    targets = [line for line in lines if line.kind == "target"]
    models = [line for line in lines if line.kind == "model"]
    assert targets[0].first == hit.domains[0].target_range[0] + 1
    assert targets[-1].last == hit.domains[0].target_range[1]
    assert models[0].first == 1
    assert models[-1].last == 28
    for before, after in pairwise(targets):
        assert after.first == before.last + 1


def test_the_ruler_marks_every_tenth_node() -> None:
    text = "ACDEFGHIKLMN.PQRSTVWY"
    marks = ruler(text, list(range(len(text) + 1)), ".")
    assert marks.index("10") + 2 == 10
    assert len(marks) == len(text)
    assert ruler("ACD", [99, 100, 101, 102], ".").strip() == ""


def test_text_and_fasta(fake: ModuleType) -> None:
    hit = made_hit(fake)
    text = as_text(lay_out(hit, "Made", 80))
    assert "Domain 1 of" in text
    assert "MKVLAAGIVL" in text
    fasta = as_fasta(hit)
    assert fasta.startswith(f">{hit.name}/6-33 ")
    assert "-" not in fasta.splitlines()[1]


@pytest.mark.parametrize("scheme", sorted(RESIDUE_SCHEMES))
@pytest.mark.parametrize("nucleic", [False, True])
def test_letters_are_readable_on_every_color(scheme: str, nucleic: bool) -> None:
    for letter in "ACDEFGHIKLMNPQRSTUVWY":
        back = background_of(letter, scheme, nucleic)
        if back is not None:
            assert contrast(letter_on(back), back) >= 4.5


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_words_are_readable_in_both_themes(tokens: Tokens) -> None:
    for ground in (tokens.window, tokens.surface, tokens.hover, tokens.selected):
        assert contrast(tokens.text, ground) >= 4.5
    for ground in (tokens.window, tokens.surface):
        for words in (tokens.muted, tokens.good_text, tokens.caution_text, tokens.stop_text):
            assert contrast(words, ground) >= 4.5
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    for mark in (tokens.accent, tokens.stop):
        assert contrast(mark, tokens.surface) >= 3.0


# Viénot, Brettel and Mollon 1999: what a dichromat sees, on linear RGB.
LMS = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
MISSING = {
    "protanopia": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "deuteranopia": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


def lab(color: str, kind: str) -> np.ndarray:
    rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.linalg.inv(LMS) @ (MISSING[kind] @ (LMS @ linear)), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    f = np.cbrt(xyz / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", sorted(MISSING))
@pytest.mark.parametrize("nucleic", [False, True])
def test_the_safe_scheme_can_be_distinguished(kind: str, nucleic: bool) -> None:
    letters = "ACGT" if nucleic else "AFKDSG"
    colors = [background_of(letter, "safe", nucleic) for letter in letters]
    for place, one in enumerate(colors):
        for other in colors[place + 1 :]:
            assert np.linalg.norm(lab(one, kind) - lab(other, kind)) >= 10


def test_a_title_takes_as_many_lines_as_it_needs() -> None:
    parts = ["18294.7 bits (20 288)", "identities 13716/16054 (85 %)", "positives 13716/16054 (85 %)", "44 gaps", "end"]
    for n_columns in (20, 40, 62, 200):
        lines = [line.text for line in title_lines(parts, 0, n_columns)]
        assert " · ".join(lines) == " · ".join(parts)
        assert all(len(line) <= TITLE_SHARE * n_columns + TITLE_ROOM for line in lines)
    assert len(title_lines(parts, 0, 44)) == 2, "not a line for each"
    assert len(title_lines(parts, 0, 200)) == 1
