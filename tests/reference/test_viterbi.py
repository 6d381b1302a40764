"""The reference against every path of tiny models, and against known answers of HMMER 2.3.2."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.databases.examples import load_examples
from clalign.engines.plan7.hmmer2.domains import corrected_domains, counting_domains, uncorrected_domains
from clalign.formats.profiles import load_profiles
from clalign.reference.viterbi import viterbi_score
from clalign.reference.viterbi_trace import MatrixRows, viterbi_trace
from clalign.values.alignments import alignment_text, path_score
from clalign.values.alphabets import code_of, encode
from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile, to_integer_profile
from clalign.values.synthetic import random_profile


def every_path(codes: np.ndarray, profile: IntegerProfile) -> Iterator[int]:
    """Yield the score of every path from S to T, by walking the model's arrows one by one."""
    m, x = profile.length, profile.special
    t, begin, end = profile.transitions.astype(int), profile.begin.astype(int), profile.end.astype(int)

    def walk(state: str, k: int, i: int, score: int) -> Iterator[int]:
        left = len(codes) - i
        if state == "N":
            yield from walk("B", 0, i, score + x.n_move)
            if left:
                yield from walk("N", 0, i + 1, score + x.n_loop)
        elif state == "B" and left:
            for node in range(1, m + 1):
                yield from walk("M", node, i + 1, score + begin[node] + int(profile.match[codes[i], node]))
        elif state in "MID" and state:
            to_match, to_insert, to_delete = {"M": (MM, MI, MD), "I": (IM, II, None), "D": (DM, None, DD)}[state]
            if k < m and left:
                yield from walk("M", k + 1, i + 1, score + t[to_match, k] + int(profile.match[codes[i], k + 1]))
            if to_insert is not None and left and k < m:
                yield from walk("I", k, i + 1, score + t[to_insert, k] + int(profile.insert[codes[i], k]))
            if to_delete is not None and k < m:
                yield from walk("D", k + 1, i, score + t[to_delete, k])
            if state == "M":
                yield from walk("E", 0, i, score + end[k])
        elif state == "E":
            yield from walk("C", 0, i, score + x.e_move)
            yield from walk("J", 0, i, score + x.e_loop)
        elif state == "J":
            if left:
                yield from walk("J", 0, i + 1, score + x.j_loop)
                yield from walk("B", 0, i, score + x.j_move)
        elif state == "C":
            if left:
                yield from walk("C", 0, i + 1, score + x.c_loop)
            else:
                yield score + x.c_move

    yield from walk("N", 0, 0, 0)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(("n_nodes", "length"), list(itertools.product((1, 2, 3), (1, 2, 4))))
def test_score_is_the_best_of_every_path(n_nodes: int, length: int, local: bool) -> None:
    rng = np.random.default_rng(10 * n_nodes + length)
    profile = random_profile(rng, n_nodes, local)
    codes = np.array([code_of(letter) for letter in rng.choice(list("ACDW"), length)], np.uint8)
    assert viterbi_score(codes, profile) == max(every_path(codes, profile))


@pytest.fixture(scope="module")
def motif() -> IntegerProfile:
    example = next(example for example in load_examples() if example.id == "motif")
    return to_integer_profile(load_profiles(str(example.profiles))[0])


# Raw Viterbi score, then score and null2 correction of each domain: HMMER 2.3.2's integers.
KNOWN = {
    "ACGTTGACGT": (546, [(546, 6)], 0.5),
    "ACGTTGACGTCCCCACGTTGACGT": (1092, [(546, 6), (546, 6)], 1.1),
    "TTACGTGACGATT": (-3308, [(-3308, 7)], -3.3),
    "GGACGTTCCGACGTGG": (-7909, [(-7909, 5)], -7.9),
    "TTGACGT": (-9145, [(-9145, 8)], -9.2),
    "acgtNgacgt": (-1075, [(-1075, 6)], -1.1),
    "CCCCCCCC": (-19916, [(-19915, 6)], -19.9),
    "A": (-26145, [(-26147, 6)], -26.2),
}


@pytest.mark.parametrize("text", KNOWN)
def test_known_answers(motif: IntegerProfile, text: str) -> None:
    raw, domains, printed = KNOWN[text]
    codes = encode(text)
    assert viterbi_score(codes, motif) == raw
    paths = viterbi_trace(codes, motif)
    assert paths is not None
    every = [codes] * len(paths)
    scored = corrected_domains(uncorrected_domains(paths, every, motif), every, motif)
    assert [(domain.raw, domain.correction) for domain in scored] == domains
    assert f"{counting_domains(scored)[0]:.1f}" == f"{printed:.1f}"


def test_known_paths(motif: IntegerProfile) -> None:
    (path,) = viterbi_trace(encode("TTACGTGACGATT"), motif) or []
    assert (path.states, path.target_range, path.query_range) == ("MMMMDMMMMM", (2, 11), (0, 10))
    (wing,) = viterbi_trace(encode("TTGACGT"), motif) or []
    assert (wing.states, wing.target_range, wing.query_range) == ("DDDMMMMMMM", (0, 7), (0, 10))
    rows = alignment_text(path, motif, encode("TTACGTGACGATT"))
    assert (rows.model, rows.match, rows.target) == ("acgttgacgt", "acgt gacg+", "ACGT-GACGA")


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(1, 12), length=st.integers(1, 40), local=st.booleans())
@settings(max_examples=60, deadline=None)
def test_domains_add_up_to_the_score(seed: int, n_nodes: int, length: int, local: bool) -> None:
    """Scored again from their paths, the domains and the loops between them give the Viterbi score.

    Terms of an unfolded wing are rounded apart, each by half a unit at most.
    """
    rng = np.random.default_rng(seed)
    profile = random_profile(rng, n_nodes, local)
    codes = np.array([code_of(letter) for letter in rng.choice(list("ACDEFGHIKL"), length)], np.uint8)
    paths = viterbi_trace(codes, profile)
    assert paths is not None
    x = profile.special
    alone = x.n_move + x.e_move + x.c_move
    inside = sum(path_score(path, profile, codes) - alone for path in paths)
    outside = length - sum(len(path.states.replace("D", "")) for path in paths)
    joins = (len(paths) - 1) * (x.e_loop + x.j_move)
    assert x.n_loop == x.c_loop == x.j_loop == 0
    assert outside >= 0
    unfolded = sum(path.states.count("D") + 2 for path in paths)
    assert abs(alone + inside + joins - viterbi_score(codes, profile)) <= unfolded


def test_what_is_no_letter_is_shown_as_unknown(motif: IntegerProfile) -> None:
    (path,) = viterbi_trace(encode("ACG-TGACGT"), motif) or []
    assert path.states == "M" * 10
    assert alignment_text(path, motif, encode("ACG-TGACGT")).target == "ACGXTGACGT"


def test_impossible_sequences_have_no_path(motif: IntegerProfile) -> None:
    assert viterbi_trace(encode(""), motif) is None
    assert viterbi_score(encode(""), motif) <= IMPOSSIBLE


def test_large_matrices_are_walked_with_little_memory() -> None:
    """With only every n-th row kept, rows and paths are the same."""
    rng = np.random.default_rng(4)
    profile = random_profile(rng, 9)
    codes = np.concatenate([encode("WYV" * 7), encode(profile.hmm.consensus), encode("GG" * 9)] * 3)
    whole, sparse = MatrixRows(codes, profile), MatrixRows(codes, profile, kept_cells=0)
    assert sparse.n_kept < len(codes) / 5
    for i in range(len(codes), -1, -1):
        assert whole[i].c == sparse[i].c
        assert whole[i].m.tolist() == sparse[i].m.tolist()
