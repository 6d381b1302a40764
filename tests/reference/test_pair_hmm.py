"""The plain pair HMM equals the sum over every path of tiny pairs, and the numbers that are known of small ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.reference import pair_hmm
from clalign.reference.pair_hmm import backward, expected_counts, forward, match_posteriors, sparse_posteriors
from clalign.values.alphabets import AMINO, encode
from clalign.values.pair_hmm import (
    SEED_GAPS,
    TO_END,
    GapParameters,
    PairEmissions,
    PairHmm,
    fixed_emissions,
    gap_posteriors,
    seed_emissions,
)

THREE, FIVE = (PairHmm(SEED_GAPS[False, n], fixed_emissions(AMINO)) for n in (1, 2))


def random_model(rng: np.random.Generator, n_sets: int, letters: str = "ACG") -> PairHmm:
    gaps = GapParameters.of(rng.uniform(0.01, 0.4, n_sets), rng.uniform(0.1, 0.9, n_sets))
    pairs = rng.random((len(letters), len(letters)))
    return PairHmm(gaps, PairEmissions.of(letters, rng.dirichlet(np.ones(len(letters))), pairs / pairs.sum()))


def steps_of(gaps: GapParameters) -> dict[tuple[str, str], float]:
    """Return the probability of each step; states are S, M, I and D with the number of their set, and E."""
    rest = 1 - gaps.opens.sum()
    steps = {("S", "M"): rest, ("M", "M"): rest - TO_END, ("M", "E"): TO_END}
    for k, (opening, extending) in enumerate(zip(gaps.opens, gaps.extends, strict=True)):
        for state in (f"I{k}", f"D{k}"):
            steps |= {("S", state): opening / 2, ("M", state): opening / 2, (state, state): extending}
            steps |= {(state, "M"): 1 - extending - TO_END, (state, "E"): TO_END}
    return steps


def paths(m: int, n: int, last: str, steps: dict[tuple[str, str], float]) -> Iterator[tuple[str, ...]]:
    """Yield every path from a state that emits m and n further residues."""
    if (last, "E") in steps and m == n == 0:
        yield ("E",)
    for state in {state for _, state in steps} - {"E"}:
        i, j = m - (state[0] in "MI"), n - (state[0] in "MD")
        if (last, state) in steps and min(i, j) >= 0:
            yield from ((state, *rest) for rest in paths(i, j, state, steps))


def differences(x: str, y: str, model: PairHmm) -> list[float]:
    """Return how far each number is from the sum over all paths."""
    steps, letters, emissions = steps_of(model.gaps), model.emissions.letters, model.emissions
    n_sets, n_letters = model.gaps.n_sets, len(letters)
    total, posteriors = 0.0, np.zeros((len(x), len(y)))
    match_match, (opens, extends, closes) = 0.0, np.zeros((3, n_sets))
    matches, (inserts, deletes) = np.zeros((n_letters, n_letters)), np.zeros((2, n_letters))
    for path in paths(len(x), len(y), "S", steps):
        i = j = 0
        p = np.prod([steps[step] for step in zip(("S", *path), path, strict=False)])
        emitted: list[tuple[str, int, int]] = []
        for state in path[:-1]:
            i, j = i + (state[0] in "MI"), j + (state[0] in "MD")
            a, b = letters.index(x[i - 1]) if i else 0, letters.index(y[j - 1]) if j else 0
            p *= {"M": emissions.pairs[a, b], "I": emissions.singles[a], "D": emissions.singles[b]}[state[0]]
            emitted.append((state[0], i, j))
        total += p
        for state, i, j in emitted:
            if state == "M":
                posteriors[i - 1, j - 1] += p
                matches[letters.index(x[i - 1]), letters.index(y[j - 1])] += p
            elif state == "I":
                inserts[letters.index(x[i - 1])] += p
            else:
                deletes[letters.index(y[j - 1])] += p
        for one, other in itertools.pairwise(path):
            match_match += p * (one == other == "M")
            if other[0] in "ID":
                (opens if one == "M" else extends)[int(other[1])] += p
            elif one[0] in "ID" and other == "M":
                closes[int(one[1])] += p
    codes = encode(x), encode(y)
    found = expected_counts(*codes, model)
    pairs = [
        (np.exp(forward(*codes, model).total), total), (np.exp(backward(*codes, model).total), total),
        (match_posteriors(*codes, model)[0], posteriors / total), (found.match_match[0], match_match / total),
        (found.opens[0], opens / total), (found.extends[0], extends / total), (found.closes[0], closes / total),
        (found.matches[0], matches / total), (found.inserts[0], inserts / total), (found.deletes[0], deletes / total),
        (found.log_likelihoods[0], np.log(total)),
    ]  # fmt: skip
    return [float(np.abs(np.asarray(a) - b).max()) for a, b in pairs]


@pytest.mark.parametrize("n_sets", [1, 2])
@pytest.mark.parametrize(("x", "y"), [("A", "C"), ("AC", "G"), ("G", "ACC"), ("ACG", "GC"), ("GAC", "ACA")])
def test_every_path(x: str, y: str, n_sets: int) -> None:
    model = random_model(np.random.default_rng(len(x) + n_sets), n_sets)
    assert max(differences(x, y, model)) < 1e-12


@pytest.mark.parametrize("changed", ["start_match", "match_match", "opens", "extends", "closes"])
def test_planted_steps_are_noticed(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = pair_hmm.transitions_of
    planted = {changed: lambda gaps: getattr(right(gaps), changed) * 1.0001}
    monkeypatch.setattr(
        pair_hmm, "transitions_of", lambda gaps: replace(right(gaps), **{changed: planted[changed](gaps)})
    )
    assert max(differences("ACG", "GC", random_model(np.random.default_rng(3), 2))) > 1e-7


KNOWN_CELLS = {  # M, I, D forwards and backwards
    (0, 1): (0, 0, 3.926631e-04, 9.527440e-11, 4.495498e-09, 8.147618e-12),
    (1, 0): (0, 2.592173e-04, 0, 3.447453e-08, 7.222934e-09, 7.223110e-09),
    (1, 1): (4.809981e-04, 0, 0, 5.256559e-09, 2.171854e-07, 5.306320e-10),
    (1, 2): (9.189930e-08, 0, 3.753782e-07, 3.481276e-08, 2.774813e-06, 0),
    (2, 1): (8.040158e-08, 2.691912e-07, 0, 2.323400e-05, 4.856859e-06, 4.856859e-06),
    (2, 2): (1.564515e-06, 5.143157e-11, 6.274661e-11, 7.804151e-07, 6.220438e-05, 0),
    (3, 2): (3.175474e-09, 1.224170e-09, 4.259321e-12, 1e-3, 1e-3, 1e-3),
}


def test_known_cells() -> None:
    x, y = encode("HEA"), encode("PA")
    f, b = forward(x, y, THREE), backward(x, y, THREE)
    for cell, values in KNOWN_CELLS.items():
        found = [np.exp(t[cell]) for t in (f.match, f.inserts[0], f.deletes[0], b.match, b.inserts[0], b.deletes[0])]
        assert found == pytest.approx(values, rel=2e-7)
    assert f.total == pytest.approx(b.total, abs=1e-12) == pytest.approx(-26.148530, abs=1e-6)
    counts = expected_counts(x, y, THREE)
    steps = (counts.match_match, counts.opens[0], counts.extends[0], counts.closes[0])
    assert np.concatenate(steps) == pytest.approx([0.7014280, 0.5758194, 0.0016936, 0.7227526], abs=1e-7)
    assert counts.inserts[0][THREE.emissions.indices[x]] == pytest.approx([0.425148, 0.298572, 0.277974], abs=1e-6)
    assert counts.deletes[0][THREE.emissions.indices[y]] == pytest.approx([0.000726, 0.000967], abs=1e-6)


X, Y = encode("HEAGAWGHEE"), encode("PAWHEAE")
SEEDED = replace(
    FIVE, emissions=seed_emissions(AMINO, np.bincount(FIVE.emissions.indices[np.concatenate([X, Y])], minlength=20))
)
KNOWN_PLACES = [(0, 0), (1, 1), (3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6)]


@pytest.mark.parametrize(
    ("model", "places", "values"),
    [
        (THREE, KNOWN_PLACES,
         [0.526987, 0.0894905, 0.460826, 0.899618, 0.988628, 0.987943, 0.988948, 0.990669, 0.996556]),
        (FIVE, [(0, 0), (1, 0), *KNOWN_PLACES[1:]],
         [0.523597, 0.0103553, 0.0885926, 0.454946, 0.895308, 0.990766, 0.986787, 0.987682, 0.989454, 0.996504]),
    ],
)  # fmt: skip
def test_known_posteriors(model: PairHmm, places: list[tuple[int, int]], values: list[float]) -> None:
    found = sparse_posteriors(X, Y, model)
    assert list(zip(found.x.tolist(), found.y.tolist(), strict=True)) == places
    assert found.values == pytest.approx(values, abs=1.5e-6)


def test_known_gaps_and_likelihoods() -> None:
    found = sparse_posteriors(X, Y, THREE)
    of_x = [0.473013, 0.91051, 1, 0.539174, 0.100382, 0.011372, 0.0120572, 0.011052, 0.00933087, 0.00344414]
    of_y = [0.0121866, 0.0108918, 0.011372, 0.0120572, 0.011052, 0.00933087, 0.00344414]
    assert found.x_gaps == pytest.approx(of_x, abs=1e-6)
    assert found.y_gaps == pytest.approx(of_y, abs=1e-6)
    assert found.log_likelihoods[0] / 17 == pytest.approx(-3.569029, abs=1e-6)
    seeded = sparse_posteriors(X, Y, SEEDED)
    assert seeded.log_likelihoods[0] / 17 == pytest.approx(-2.49755, abs=1e-5)
    entries = {(i, j): p for i, j, p in zip(seeded.x.tolist(), seeded.y.tolist(), seeded.values, strict=True)}
    assert len(entries) == 16
    for place, value in {(0, 0): 0.509638, (0, 3): 0.0299201, (4, 1): 0.864365, (9, 6): 0.980865}.items():
        assert entries[place] == pytest.approx(value, abs=1e-6)


def test_gap_posteriors_have_a_floor() -> None:
    left = gap_posteriors(np.array([0, 0, 2], np.int32), np.array([0.5, 0.5, 0.25], np.float32), 3)
    assert left.tolist() == [pytest.approx(1e-4), 1.0, 0.75]
