"""Which domains the segments of random tracebacks show."""

from __future__ import annotations

import numpy as np

from clalign.reference.clustering import domains_of

Row = tuple[int, int, int, int]


def segments(*rows: tuple[Row, int]) -> np.ndarray:
    """Return each row (residues and nodes, half open) in so many samples of its own."""
    places = [row for row, n in rows for _ in range(n)]
    return np.array([(sample, *place) for sample, place in enumerate(places)], np.int32).reshape(-1, 5)


def test_nothing() -> None:
    assert domains_of(segments(), 200) == []


def test_one_domain_with_frayed_ends() -> None:
    """An end counts where it occurs in at least two in a hundred samples of the cluster."""
    found = segments(((10, 100, 0, 90), 190), ((8, 100, 0, 90), 7), ((5, 101, 0, 91), 3))
    assert domains_of(found, 200) == [(8, 100)]


def test_too_few_samples() -> None:
    assert domains_of(segments(((10, 100, 0, 90), 49)), 200) == []
    assert domains_of(segments(((10, 100, 0, 90), 50)), 200) == [(10, 100)]


def test_same_residues_on_another_diagonal_are_another_domain() -> None:
    """They are not linked, but then the more frequent one dominates."""
    both = segments(((10, 60, 0, 50), 110), ((10, 60, 5, 55), 90))
    assert domains_of(both, 200) == [(10, 60)]
    near = segments(((10, 60, 0, 50), 30), ((10, 60, 4, 54), 30))
    assert domains_of(near, 200) == [(10, 60)], "together they are enough"
    assert domains_of(segments(((10, 60, 0, 50), 30), ((10, 60, 5, 55), 30)), 200) == []


def test_links_are_passed_on() -> None:
    steps = segments(*(((10 + 3 * k, 100 + 3 * k, 0, 90), 20) for k in range(4)))
    assert domains_of(steps, 200) == [(10, 109)]


def test_domains_in_their_order() -> None:
    found = segments(((120, 200, 0, 80), 150), ((10, 90, 0, 80), 180))
    assert domains_of(found, 200) == [(10, 90), (120, 200)]


def test_on_a_tie_the_earlier_one_is_dropped() -> None:
    tied = segments(((10, 60, 0, 50), 60), ((12, 62, 20, 70), 60))
    assert domains_of(tied, 200) == [(12, 62)]


def test_of_two_that_begin_together_the_one_that_is_found_first_is_dropped() -> None:
    """What `p7_spensemble_Cluster` of HMMER 3.3.2 finds in these segments."""
    short, long, other = (10, 60, 0, 50), (10, 80, 100, 170), (200, 300, 0, 100)
    assert domains_of(segments((short, 50), (long, 50)), 100) == [(10, 80)]
    assert domains_of(segments((long, 50), (short, 50)), 100) == [(10, 60)]
    # The second `other` leaves its place to `short`, so `long` is found before it.
    mixed = segments((other, 1), (short, 1), (long, 1), (other, 1), (short, 49), (long, 49))
    assert domains_of(mixed, 102) == [(10, 60)]


def test_neighbors_end_the_search_for_dominated_ones() -> None:
    """HMMER looks no further once the next domain begins right behind this one."""
    found = segments(((0, 50, 0, 50), 60), ((50, 100, 0, 50), 60))
    assert domains_of(found, 200) == [(0, 50), (50, 100)]
