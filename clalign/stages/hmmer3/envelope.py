"""Envelopes: their scores, optimal accuracy alignments and compositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, KernelSession, no_check
from clalign.errors import OutOfDeviceMemory
from clalign.stages.hmmer3.local_tables import (
    DomainStage,
    Problems,
    complete,
    each_part,
    model_tables,
    part_table,
    portions,
)
from clalign.values.alignments import DomainPath
from clalign.values.alphabets import code_of
from clalign.values.envelopes import Parts, Rescored, RowProfiles
from clalign.values.local_scores import letter_ratios

N_ROWS = {"vector": 5, "lanes": 8}
"""Scratch rows: M, I and D, of work-items for two residues in turn, and the uses of M and I, before which Forward and
Backward have their transitions in the first of these two."""

Answers = list[Rescored | None]

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int32]
Written = tuple[Floats, Floats, Whole, Bytes, Bytes | Floats]
"""The kernel's results for all parts: scores, ratios, begins, states, and posteriors or certainties."""

_STATES, _DIGITS = (np.frombuffer(letters, np.uint8) for letters in (b"MID", b"0123456789*."))

MAX_TEXT = 2**31 - 1
"""Limit of the characters of all alignments of a batch, which an index of the kernel must hold."""


class EnvelopeStage(DomainStage[Parts, RowProfiles, Answers]):
    """Each part of a batch taken as one domain; None where single precision does not hold its probabilities."""

    name = "envelope"

    @property
    def is_whole(self) -> bool:
        """Whether whole sequences are aligned as hmmalign does, see `clalign.reference.envelope.rescore`."""
        return bool(self.defines.get("CERTAINTY"))

    def reference(self, batch: Parts, model: RowProfiles, check: Check = no_check) -> Answers:
        from clalign.reference.envelope import rescore

        return [rescore(*part, check, self.is_whole) for part in each_part(batch, model)]

    def start(self, session: KernelSession, batch: Parts, model: RowProfiles) -> Callable[[], Answers]:
        if not len(batch):
            return list
        n, of_part = len(batch), model.of_row[batch.rows]
        problems = Problems.of(batch.lengths, of_part, model)
        found, left = portions(
            self, session.device, problems, N_ROWS, lambda p, slots: (2 * 4 * p.cells, p.cells, slots)
        )
        kinds = np.array([code_of(letter) for letter in model.alphabet.canonical], np.uint8)
        ends = np.cumsum(problems.lengths + problems.nodes)
        if ends[-1] > MAX_TEXT:
            raise OutOfDeviceMemory(
                f"The alignments of {n:,} envelopes are too long to be computed at once.",
                "Search smaller parts of the file.",
            )
        text_at = np.concatenate([[0], ends]).astype(np.int32)
        n_letters = int(text_at[-1])
        sizes: list[tuple[int, Any]] = [
            (n * 2, np.float32), (n * len(kinds), np.float32), (n * 3, np.int32), (n_letters, np.uint8),
            (n_letters, np.float32 if self.is_whole else np.uint8),
        ]  # fmt: skip
        out = [session.results(size * np.dtype(kind).itemsize) for size, kind in sizes]
        table, places = session.upload(part_table(batch)), [session.upload(each) for each in (text_at, of_part)]
        tables, letters = model_tables(session, model).odds, (session.upload(kinds), np.int32(len(kinds)))
        for portion in found:
            portion.launch(
                session, session.residues(batch.batch)[0], table, session.upload(portion.order),
                np.uint32(len(portion.order)), *places, *tables, portion.row_room, np.uint64(portion.cells),
                np.int32(portion.longest), *letters, session.zeros(4), portion.rows(session), *portion.buffers(session),
                *out,
            )  # fmt: skip
        fetch = [session.fetch(buffer, *size) for buffer, size in zip(out, sizes, strict=True)]

        def collect() -> Answers:
            scores, ratios, begins, states, posteriors = (get() for get in fetch)
            written = scores, ratios, begins, states, posteriors
            done = np.setdiff1d(np.arange(n), left)
            _demand_possible(session, batch, model, text_at, done, written)
            answers = rescored(batch, model, text_at, written)
            overflown = np.flatnonzero(begins[2::3] < 0).astype(np.int32) if self.is_whole else left[:0]
            return complete(self, session, batch, model, answers, np.union1d(left, overflown))

        return collect


def _demand_possible(
    session: KernelSession, parts: Parts, model: RowProfiles, text_at: Whole, done: npt.NDArray[np.int64],
    written: Written,
) -> None:  # fmt: skip
    """Check the kernel's results for the parts that it computed."""
    scores, ratios, begins, states, posteriors = written
    residue, node, begin = begins.reshape(-1, 3)[done].T
    found = done[begin >= 0]
    residue, node, begin = residue[begin >= 0], node[begin >= 0], begin[begin >= 0]
    end = text_at[1:][found]
    inside = (begin >= text_at[:-1][found]) & (begin < end) & (node >= 0) & (residue >= 0)
    session.demand(inside.all(), "an alignment outside of its envelope")
    numbers = scores.reshape(-1, 2)[found], ratios.reshape(len(parts), -1)[found]
    session.demand(all(np.isfinite(each).all() for each in numbers), "scores of envelopes that are not numbers")
    used = np.repeat(end - np.cumsum(end - begin), end - begin) + np.arange(int((end - begin).sum()))
    letters = states[used]
    is_text = np.isin(letters, _STATES).all() and (
        posteriors.dtype == np.float32 or np.isin(posteriors[used], _DIGITS).all()
    )
    session.demand(is_text, "an alignment with invalid letters")
    of_part = np.repeat(np.arange(len(found)), end - begin)
    last_node = node + np.bincount(of_part[letters != _STATES[1]], minlength=len(found))
    last_residue = residue + np.bincount(of_part[letters != _STATES[2]], minlength=len(found))
    nodes = model.lengths[model.of_row[parts.rows[found]]]
    fits = (last_node <= nodes).all() and (last_residue <= parts.lengths[found]).all()
    session.demand(fits, "an alignment longer than its envelope or the profile")


def rescored(parts: Parts, model: RowProfiles, text_at: Whole, written: Written) -> Answers:
    """Return the kernel's results for each part."""
    scores, ratios, begins, states, posteriors = written
    letters = letter_ratios(ratios.reshape(len(parts), -1), model.profiles[0].hmm.alphabet)
    is_certainty = posteriors.dtype == np.float32
    state_text = states.tobytes().decode("ascii", "replace")
    posterior_text = "" if is_certainty else posteriors.tobytes().decode("ascii", "replace")
    numbers, places = scores.reshape(-1, 2).tolist(), begins.reshape(-1, 3).tolist()
    bounds = zip(text_at[:-1].tolist(), text_at[1:].tolist(), parts.first.tolist(), parts.last.tolist(), strict=True)
    answers: Answers = []
    for (score, correct), (residue, node, begin), (start, end, first, last), ratio in zip(
        numbers, places, bounds, letters, strict=True
    ):
        if begin < 0:
            answers.append(None)
            continue
        path = DomainPath(state_text[begin:end], node, first + residue)
        certainty = posteriors[start : start + last - first].astype(np.float32) if is_certainty else None
        answers.append(Rescored(score, ratio, correct, path, posterior_text[begin:end], certainty))
    return answers


ENVELOPE = EnvelopeStage()

WHOLE = EnvelopeStage(CERTAINTY=1, SUBNORMAL=1)
"""The stage that aligns whole sequences as hmmalign does."""
