"""Profiles from alignments: the columns, the counts and the numbers that HMMER's hmmbuild finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.building.calibration import RandomSequences, Trials, calibrated
from clalign.building.counts import Counts, counted, match_columns
from clalign.building.effective_number import TARGETS, by_entropy, exponent_by_entropy, target_entropy
from clalign.building.lengths import longest_likely
from clalign.building.priors import laplace, prior_of, probabilities
from clalign.building.rows import DigitalRows
from clalign.building.single import (
    DEFAULT_EXTEND,
    DEFAULT_MATRIX,
    DEFAULT_OPEN,
    ORIGIN,
    conditional,
    consensus_of_sequence,
    of_sequence,
    residues_of,
    scores_of,
    with_gaps,
)
from clalign.building.specs import BuildSpec
from clalign.building.weights import by_clusters, by_tree, clusters, position_based
from clalign.compute.sessions import Session
from clalign.errors import ClalignError
from clalign.formats.numbers import finite
from clalign.values.alphabets import Alphabet
from clalign.values.local_profiles import occupancy
from clalign.values.local_scores import background
from clalign.values.profiles import II, IM, MI, Cutoffs, Hmm, Hmmer3Settings, consensus_of
from clalign.values.row_alignments import RowAlignment
from clalign.values.sums import compensated_sum, normalized

Floats = npt.NDArray[np.float32]

GAPS = b"-._~"
"""Characters of an annotation that stand for no column of the reference."""


NO_SCORE = -99999.0
"""What stands in place of a cutoff for domains that is not given."""

TIMES_WITHOUT_TAIL = 4
"""Limit of the lengths of hits, in nodes, where no share of them may be longer."""


class NoProfile(ClalignError):
    """An alignment from which no profile can be built; the message says why."""


class Built(NamedTuple):
    """A profile and where it comes from.

    Attributes
    ----------
    hmm : Hmm
    columns : int64[M] or None
        Column of the alignment that each node stands for, from 1; None for that of a single sequence.
    mask : str
        The MM annotation, one character a node; empty if the alignment has none.
    counted : DigitalRows or None
        The rows as they were counted: outer gaps of fragments are missing data.
    weights : float64[n_rows] or None
        The weight of each row where weights were computed or are given.
    """

    hmm: Hmm
    columns: npt.NDArray[np.int64] | None
    mask: str
    counted: DigitalRows | None = None
    weights: npt.NDArray[np.float64] | None = None


class Builder:
    """Builds profiles of one alphabet on a device.

    Parameters
    ----------
    spec : BuildSpec
    alphabet : Alphabet
    session : Session or None
        Computes the scores of the random sequences; None if all statistics are known.
    check : callable
        Called now and then; may raise.
    """

    def __init__(
        self, spec: BuildSpec, alphabet: Alphabet, session: Session | None, check: Callable[[], None] = lambda: None
    ) -> None:
        self.spec, self.alphabet, self.session, self.check = spec, alphabet, session, check
        self.background = background(alphabet)
        self.prior = (
            None if spec.prior == "none" else laplace(alphabet) if spec.prior == "laplace" else prior_of(alphabet)
        )

    @cached_property
    def sequences(self) -> RandomSequences:
        """What the statistics are fitted to the scores of."""
        spec = self.spec
        trials = Trials(
            (spec.msv_n, spec.msv_length), (spec.viterbi_n, spec.viterbi_length),
            (spec.forward_n, spec.forward_length), spec.tail, spec.seed,
        )  # fmt: skip
        return RandomSequences.of(self.alphabet, trials)

    def build(
        self, alignment: RowAlignment, name: str, known: Hmmer3Settings | None = None, has_checksum: bool = True
    ) -> Built:
        """Return the profile of an alignment.

        Parameters
        ----------
        alignment : RowAlignment
        name : str
        known : Hmmer3Settings, optional
            Score statistics that it is known to have; they are computed otherwise.
        has_checksum : bool
            Whether the checksum of the alignment is among its facts, which takes longer than the rest where there are
            many rows.

        Raises
        ------
        NoProfile
            If it has letters of another alphabet, missing data within a row, or no column for the profile.
        """
        rows = self._digital(alignment)
        if self.spec.by_matrix and len(rows.codes) == 1:
            return self._by_matrix(rows, alignment)
        weights = self._weights(rows, alignment)
        facts = {"sequences": f"{len(rows.codes)}"} | ({"checksum": f"{rows.checksum()}"} if has_checksum else {})
        rows = rows.with_fragments(self.spec.fragthresh)
        is_match = self._match_columns(rows, weights, alignment)
        mask = alignment.notes.columns.get("MM", b"")
        if mask:
            rows = rows.masked(np.frombuffer(mask, np.uint8) == ord("m"))
        self.check()
        counts = _shortened(counted(rows, weights, is_match), self.spec.max_insert)
        columns = np.flatnonzero(is_match)
        effective, counts = self._weighed(counts, rows)
        found = probabilities(counts, self.prior)
        node_mask = "".join(chr(mask[column]).replace(".", "-") for column in columns) if mask else ""
        hmm = replace(self._describe(found, alignment, name, columns, effective), facts=facts)
        hmm = self._calibrated(hmm) if known is None else _with_statistics(hmm, known)
        match = hmm.match.copy()
        match[1:-1][[letter == "m" for letter in node_mask.ljust(hmm.length)[:-1]]] = self.background  # as HMMER has it
        hmm = self._with_limit(replace(hmm, match=match))
        if self.gaps != (None, None):
            hmm = replace(hmm, transitions=with_gaps(hmm.transitions, *self.gaps))
        return Built(hmm, columns + 1, node_mask, rows, weights if self._has_weights(alignment) else None)

    def _has_weights(self, alignment: RowAlignment) -> bool:
        """Return whether HMMER reports the weights of rows."""
        is_computed = self.spec.weighting in ("pb", "gsc", "blosum") and alignment.n_rows > 1
        return is_computed or any(tag == "WT" for _, tag, _ in alignment.notes.rows)

    def _by_matrix(self, rows: DigitalRows, alignment: RowAlignment) -> Built:
        """Return the profile of a single row by a substitution matrix."""
        codes = residues_of(rows)
        if not len(codes):
            raise NoProfile("its only row has no residues.", "Add some.")
        hmm = self.of_sequence(codes, alignment.names[0])
        assert isinstance(hmm.settings, Hmmer3Settings)
        return Built(replace(hmm, settings=replace(hmm.settings, effective_n=1.0)), None, "")

    def of_sequence(
        self, codes: npt.NDArray[np.uint8], name: str, accession: str = "", description: str = "",
        known: Hmmer3Settings | None = None,
    ) -> Hmm:  # fmt: skip
        """Return the profile of a sequence by a substitution matrix.

        Parameters
        ----------
        codes : uint8[M]
            As in `DigitalRows`, without gaps.
        name, accession, description : str
        known : Hmmer3Settings, optional
            As of `build`.
        """
        opening, extension = self.gaps
        assert opening is not None
        assert extension is not None
        found = of_sequence(codes, self.by_residue, opening, extension, self.alphabet)
        hmm = Hmm(
            name=name, accession=accession, description=description, alphabet=self.alphabet, match=found.match,
            insert=found.insert, transitions=found.transitions,
            consensus=consensus_of_sequence(codes, found.match, self.alphabet), reference="", structure="",
            cutoffs=Cutoffs(), calibration=None,
            settings=Hmmer3Settings("f", None, None, None, composition(found), None, None),
            facts={"sequences": "1", "history": ORIGIN},
        )  # fmt: skip
        return self._with_limit(self._calibrated(hmm) if known is None else _with_statistics(hmm, known))

    @property
    def gaps(self) -> tuple[float | None, float | None]:
        """Given probabilities that a gap begins and goes on; with a matrix for profiles of several rows, too."""
        opening, extension = self.spec.popen, self.spec.pextend
        if self.spec.by_matrix:
            opening = DEFAULT_OPEN[self.alphabet.name] if opening is None else opening
            extension = DEFAULT_EXTEND[self.alphabet.name] if extension is None else extension
        return opening, extension

    @cached_property
    def by_residue(self) -> npt.NDArray[np.float64]:
        """How often each letter is aligned with each residue, by the matrix; see `conditional`."""
        matrix = self.spec.matrix or DEFAULT_MATRIX[self.alphabet.name]
        return conditional(scores_of(matrix, self.alphabet), self.alphabet)

    def _calibrated(self, hmm: Hmm) -> Hmm:
        self.check()
        assert self.session is not None
        try:
            return calibrated(hmm, self.session, self.sequences, self.spec.tail)
        except ArithmeticError:
            reason = "no statistics fit the scores of its profile, which prefers no residue."
            raise NoProfile(reason, "Add rows or residues.") from None

    def _digital(self, alignment: RowAlignment) -> DigitalRows:
        rows = DigitalRows.of_cells(alignment.cells, self.alphabet)
        is_missing = rows.codes == rows.missing
        if is_missing.any():
            first, end = rows.spans()
            places = np.arange(alignment.n_columns)
            inside = is_missing & (places >= first[:, None]) & (places < end[:, None])
            if inside.any():
                row = alignment.names[int(np.argmax(inside.any(axis=1)))]
                raise NoProfile(f'the row "{row}" has missing data (~) between its residues.', "Write gaps as - there.")
        return rows

    def _weights(self, rows: DigitalRows, alignment: RowAlignment) -> npt.NDArray[np.float64]:
        spec = self.spec
        if spec.weighting == "given":
            return _given_weights(alignment)
        if spec.weighting == "pb":
            return position_based(rows, self._reference(alignment) if spec.by_hand else None)
        if spec.weighting == "gsc":
            return by_tree(rows, self.check)
        if spec.weighting == "blosum":
            return by_clusters(rows, spec.wid, self.check)
        return np.ones(len(rows.codes))

    @staticmethod
    def _reference(alignment: RowAlignment) -> npt.NDArray[np.bool_] | None:
        """Return which columns the reference marks; None if there is none."""
        text = alignment.notes.columns.get("RF")
        return None if text is None else ~np.isin(np.frombuffer(text, np.uint8), np.frombuffer(GAPS, np.uint8))

    def _match_columns(
        self, rows: DigitalRows, weights: npt.NDArray[np.float64], alignment: RowAlignment
    ) -> npt.NDArray[np.bool_]:
        if self.spec.by_hand:
            marked = self._reference(alignment)
            if marked is None:
                raise NoProfile("it has no line #=GC RF that marks columns.", "Add one, or leave out --hand.")
            if not marked.any():
                raise NoProfile("its line #=GC RF marks no column.", "Mark some, or leave out --hand.")
            return marked
        found = match_columns(rows, weights, self.spec.symfrac)
        if not found.any():
            share = f"{100 * self.spec.symfrac:g} %"
            raise NoProfile(f"no column has at least {share} residues.", "Choose a smaller --symfrac.")
        return found

    def _weighed(self, counts: Counts, rows: DigitalRows) -> tuple[float, Counts]:
        """Return the effective number of sequences, and the counts of this many."""
        if self.spec.effective_number == "exponential":
            scaled = counts.powered(exponent_by_entropy(counts, self.background, self.prior, self._target(counts)))
            per_node = compensated_sum(scaled.match[1:]).astype(np.float64)
            return float(np.float32(np.add.accumulate(per_node)[-1] / len(per_node))), scaled
        number = float(np.float32(self._effective_number(counts, rows)))
        return number, counts.scaled(number / len(rows.codes))

    def _target(self, counts: Counts) -> float:
        least = TARGETS[self.alphabet.name] if self.spec.ere is None else self.spec.ere
        return target_entropy(len(counts.match) - 1, least, self.spec.esigma)

    def _effective_number(self, counts: Counts, rows: DigitalRows) -> float:
        spec, n_rows = self.spec, len(rows.codes)
        if isinstance(spec.effective_number, float):
            return spec.effective_number
        if spec.effective_number == "none":
            return float(n_rows)
        if spec.effective_number == "clust":
            return float(clusters(rows, spec.eid, self.check).max() + 1)
        return by_entropy(counts, n_rows, self.background, self.prior, self._target(counts))

    def _describe(
        self, found: Counts, alignment: RowAlignment, name: str, columns: npt.NDArray[np.int64], effective: float
    ) -> Hmm:
        """Return the profile with what the alignment says of its nodes."""
        notes = dict(alignment.notes.file)  # of several the last one counts, as in HMMER

        def of_nodes(tag: str) -> str:
            text = alignment.notes.columns.get(tag)
            return "" if text is None else "".join(chr(text[column]) for column in columns)

        return Hmm(
            name=name,
            accession=notes.get("AC", ""),
            description=notes.get("DE", ""),
            alphabet=self.alphabet,
            match=found.match,
            insert=found.insert,
            transitions=found.transitions,
            consensus=consensus_of(found.match, self.alphabet),
            reference=of_nodes("RF"),
            structure=of_nodes("SS_cons"),
            cutoffs=Cutoffs(*(_scores(notes.get(tag)) for tag in ("GA", "TC", "NC"))),
            calibration=None,
            settings=Hmmer3Settings("f", None, None, None, composition(found), None, effective),
        )

    def _with_limit(self, hmm: Hmm) -> Hmm:
        """Return a nucleic profile with the length that its hits do not exceed; another one as it is."""
        if not self.alphabet.is_nucleic:
            return hmm
        assert isinstance(hmm.settings, Hmmer3Settings)
        if (limit := self.spec.window) is None:
            tail = self.spec.window_tail
            limit = longest_likely(hmm.transitions, tail) if tail else TIMES_WITHOUT_TAIL * hmm.length
        return replace(hmm, settings=replace(hmm.settings, max_length=limit))


def _with_statistics(hmm: Hmm, known: Hmmer3Settings) -> Hmm:
    """Return a profile with score statistics that were computed before."""
    assert isinstance(hmm.settings, Hmmer3Settings)
    return replace(hmm, settings=replace(hmm.settings, msv=known.msv, viterbi=known.viterbi, forward=known.forward))


def _shortened(counts: Counts, longest: int | None) -> Counts:
    """Return counts with no more residues in insertions than this many for each that begins, but in the outer nodes."""
    if longest is None:
        return counts
    t = counts.transitions.copy()
    t[1:-1, II] = np.minimum(t[1:-1, II], np.float32(longest) * t[1:-1, MI])
    return Counts(counts.match, counts.insert, t)


def composition(found: Counts) -> Floats:
    """Return the mean emissions over match and insert states by how often they are used, with HMMER's rounding."""
    t = found.transitions
    visited = occupancy(t, np.array([0, len(t)]))
    with np.errstate(divide="ignore", invalid="ignore"):
        inserted = np.append(t[0, MI], visited[1:] * t[1:, MI]) / t[:, IM]
        parts = np.empty((2 * len(t) - 1, found.match.shape[1]), np.float32)
        parts[::2] = found.insert * inserted[:, None]
        parts[1::2] = found.match[1:] * visited[1:, None]
    return normalized(np.add.accumulate(parts, axis=0, dtype=np.float32)[-1])


def _scores(text: str | None) -> tuple[float, float] | None:
    """Return the pair of scores that an annotation gives; HMMER writes a number of its own where there is only one."""
    words = (text or "").replace(";", " ").split()[:2]
    if not words:
        return None
    scores = [_number(word, "a score") for word in words]
    return scores[0], scores[1] if len(scores) > 1 else NO_SCORE


def _given_weights(alignment: RowAlignment) -> npt.NDArray[np.float64]:
    """Return the weights that the rows of an alignment are given; all alike where none is."""
    given = {name: text for name, tag, text in alignment.notes.rows if tag == "WT"}
    if not given:
        return np.ones(alignment.n_rows)
    if missing := next((name for name in alignment.names if name not in given), None):
        raise NoProfile(f'the row "{missing}" has no weight, but others have.', "Give it one, or leave out --wgiven.")
    return np.array([_number(given[name], "a weight", 0.0) for name in alignment.names])


def _number(text: str, what: str, least: float = -math.inf) -> float:
    """Return a number of an annotation.

    Raises
    ------
    NoProfile
        If it is none.
    """
    value = finite(text)
    if value is None or value < least:
        raise NoProfile(f'"{text[:40]}" is not {what}.', "Correct the annotation.")
    return value
