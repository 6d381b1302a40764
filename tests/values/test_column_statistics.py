import numpy as np
import pytest

from clalign.values.column_statistics import N_LETTERS, ColumnTracks, column_tracks, count_letters, max_information


def tracks_of(rows: list[bytes], nucleic: bool = False) -> ColumnTracks:
    cells = np.array([list(row) for row in rows], np.uint8)
    counts, lengths = np.zeros((cells.shape[1], N_LETTERS), np.uint32), np.zeros(len(rows), np.int64)
    count_letters(cells, counts, lengths)
    return column_tracks(counts, len(rows), nucleic)


def test_letters_are_counted_without_case_and_gaps() -> None:
    rng = np.random.default_rng(5)
    cells = rng.choice(np.frombuffer(b"ACDEFacdXz-._~*?", np.uint8), (255, 40))
    counts, lengths = np.zeros((40, N_LETTERS), np.uint32), np.zeros(255, np.int64)
    count_letters(cells, counts, lengths)
    for column in range(40):
        text = cells[:, column].tobytes().upper()
        assert [text.count(bytes([65 + i])) for i in range(N_LETTERS)] == counts[column].tolist()
    assert lengths.tolist() == [sum(chr(b).isalpha() for b in row.tolist()) for row in cells]


def test_the_consensus_is_the_commonest_residue() -> None:
    tracks = tracks_of([b"AAC-a-", b"AGC-g-", b"A-D-T-", b"ATDWC-"])
    assert tracks.consensus.tobytes() == b"A++w+-"
    assert tracks.occupancy.tolist() == pytest.approx([1, 0.75, 1, 0.25, 1, 0])
    assert tracks.share.tolist()[:3] == pytest.approx([1, 1 / 3, 0.5])


def test_conservation_is_highest_for_the_rarest_residue_and_zero_without_any() -> None:
    tracks = tracks_of([b"WLA-", b"WLC-", b"WLD-", b"WLE-"])
    whole, common, mixed, nothing = tracks.conservation.tolist()
    assert 1 >= whole > common > mixed > nothing == 0


def test_information_is_that_of_schneider_and_stephens() -> None:
    rows = [b"AA"] * 8 + [b"AC"] * 8
    tracks = tracks_of(rows, nucleic=True)
    correction = 3 / (2 * np.log(2) * 16)
    assert tracks.information.tolist() == pytest.approx([2 - correction, 1 - correction], rel=1e-6)
    assert max_information(True) == 2
    assert tracks_of([b"T", b"U"], nucleic=True).information[0] == pytest.approx(2 - 3 / (4 * np.log(2)), abs=1e-6)
