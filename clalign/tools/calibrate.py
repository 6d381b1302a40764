"""Calibration of HMMER2 profiles: scores of random sequences, and the distribution that fits them."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.compute.batching import BatchCutter, residue_limit
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.errors import ClalignError, OptionError, OutOfDeviceMemory
from clalign.formats.calibrated import model_heads, write_calibrated
from clalign.formats.profiles import models_in
from clalign.formats.sources import TextReader, opened
from clalign.jobs import JobContext
from clalign.stages.plan7.viterbi import VITERBI
from clalign.tools.specs import CalibrateSpec
from clalign.values.alphabets import AMINO, Alphabet, code_of
from clalign.values.devices import Device
from clalign.values.documents import JobRequest, JobResult
from clalign.values.evalues import POOR_DISTANCE, CensoredFit, fit_right_side, gumbel_tail, tail_misfit
from clalign.values.profiles import IMPOSSIBLE, LN_2, Calibration, Hmm, to_integer_profile
from clalign.values.sequences import SequenceDatabase

MAX_RESIDUES = 2**31 - 2**20
"""Random residues in memory at most."""

MIN_BATCH, BATCH_SECONDS = 20_000, 0.25
"""Size of a batch: at least this number of residues, or as many as take this time (s)."""

TYPICAL_NODES = 300
"""Length of the profile for which batches are sized: they are the same for all, so that they stay on the device."""

FIRST_RATE = {"gpu": 2e10, "accelerator": 2e9, "cpu": 2e8, "reference": 2e6}
"""Rate of devices that were never measured (cells / s)."""

BITS = 1000
"""Units of the integer scores per bit, which is the width of a bin of the histogram."""

NULL_SCORES = {
    "A": 595, "C": -1558, "D": 85, "E": 338, "F": -294, "G": 453, "H": -1158, "I": 197, "K": 249, "L": 902,
    "M": -1085, "N": -142, "P": -21, "Q": -313, "R": 45, "S": 531, "T": 201, "V": 384, "W": -1998, "Y": -644,
}  # fmt: skip
"""HMMER2's default null model of proteins, as its files state it: 1000 log2 of a frequency times 20."""


class Histogram(Struct, frozen=True):
    """Counts of scores in bins of one bit; `low` is the lower edge of the first bin."""

    low: int
    counts: npt.NDArray[np.int64]

    def to_dict(self) -> Json:
        """Return it as plain data."""
        return {"low": self.low, "width": 1, "counts": self.counts.tolist()}


def score_histogram(values: npt.NDArray[np.int32]) -> Histogram:
    """Return the histogram of integer scores; impossible ones are left out."""
    bins = values[values > IMPOSSIBLE // 2] // BITS
    if len(bins) == 0:
        return Histogram(0, np.zeros(0, np.int64))
    low = int(bins.min())
    return Histogram(low, np.bincount(bins - low).astype(np.int64))


def null_frequencies(alphabet: Alphabet) -> npt.NDArray[np.float64]:
    """Return the frequency of each canonical residue in HMMER2's default null model (float64[K])."""
    if alphabet != AMINO:
        return np.full(alphabet.size, 1.0 / alphabet.size)
    weights = np.exp(np.array([NULL_SCORES[letter] for letter in alphabet.canonical]) / BITS * LN_2)
    frequencies: npt.NDArray[np.float64] = weights / weights.sum()
    return frequencies


def random_lengths(rng: np.random.Generator, spec: CalibrateSpec) -> npt.NDArray[np.int64]:
    """Return the lengths of the random sequences (int64[n])."""
    if spec.fixed is not None:
        return np.full(spec.n, spec.fixed, np.int64)
    lengths = np.zeros(spec.n)
    while len(short := np.flatnonzero(lengths < 1)):
        lengths[short] = rng.normal(spec.mean, spec.sd, len(short))
    return lengths.astype(np.int64)


def random_database(alphabet: Alphabet, spec: CalibrateSpec) -> SequenceDatabase:
    """Return the random sequences, longest first; they depend on the spec and the alphabet alone.

    Raises
    ------
    OptionError
        If they are more residues than fit into memory.
    """
    rng = np.random.default_rng(spec.seed)
    lengths = np.sort(random_lengths(rng, spec))[::-1]
    n_residues = int(lengths.sum())
    if n_residues > MAX_RESIDUES:
        raise OptionError(f"{n_residues:,} random residues are too many.", "Choose fewer or shorter sequences.")
    codes = np.array([code_of(letter) for letter in alphabet.canonical], np.uint8)
    limits = np.cumsum(null_frequencies(alphabet))[:-1].astype(np.float32)
    residues = np.empty(n_residues, np.uint8)
    for first in range(0, n_residues, 2**24):
        part = residues[first : first + 2**24]
        part[:] = codes[np.searchsorted(limits, rng.random(len(part), np.float32), side="right")]
    return SequenceDatabase.without_names(alphabet, residues, lengths)


def spec_of(request: JobRequest) -> CalibrateSpec:
    """Return the spec of a job; an explicit null as seed means any, which the result then names."""
    named = {key: request[key] for key in ("n", "seed", "mean", "sd", "fixed") if request.get(key) is not None}
    if "seed" in request and request["seed"] is None:
        named["seed"] = secrets.randbelow(2**32)
    return CalibrateSpec(**named)


def calibrate(profiles: str, output: str, spec: CalibrateSpec, device: Device, context: JobContext) -> JobResult:
    """Calibrate all HMMER2 profiles of a file and write a copy of it with the new values.

    Parameters
    ----------
    profiles, output : str
        Files; they may be the same one, which is then replaced when everything is computed.
    spec : CalibrateSpec
    device : Device
    context : JobContext
        Gets the progress, and raises `Cancelled` if the job is to stop.

    Returns
    -------
    dict
        ``output``, ``device``, ``seconds``, ``device_seconds``, ``cells`` and ``fits``, one for each model
        as `fit_profile` gives it.

    Raises
    ------
    ClalignError
        If the user can act on it; nothing is written then.
    """
    began = time.monotonic()
    heads = model_heads(profiles, context.check)
    _check_output(profiles, output)
    n_nodes = float(sum(head.length for head in heads))

    def fitted_on(session: Session) -> tuple[list[Json], _Sampler, int | None]:
        sampler = _Sampler(spec, context, n_nodes)
        with opened(profiles) as source:
            text = TextReader(source)
            fits = [fit_profile(hmm, session, sampler) for hmm in models_in(text, context.check)]
        return fits, sampler, text.crc32

    with opening_of(lambda: device, context) as opening:
        fits, sampler, checksum = opening.work(fitted_on, context.check, context.warn)
    write_calibrated(
        profiles, output, [(fit["name"], Calibration("gumbel", fit["mu"], fit["lambda"])) for fit in fits], checksum
    )
    return {
        "output": output,
        "device": device.name,
        "seconds": time.monotonic() - began,
        "device_seconds": sampler.seconds,
        "cells": sampler.done_cells,
        "fits": fits,
    }


def _check_output(profiles: str, output: str) -> None:
    """Refuse to replace a compressed file by text."""
    if Path(profiles).resolve() != Path(output).resolve():
        return
    with opened(profiles) as source:
        if source.compression != "none":
            raise OptionError(
                f"{profiles} is compressed and cannot be changed in place.", "Name another file for the copy (-o)."
            )


class _Sampler(Struct):
    """The random sequences of a calibration, and its progress.

    Attributes
    ----------
    spec : CalibrateSpec
    context : JobContext
    n_nodes : float
        Nodes of all profiles, for the progress.
    """

    spec: CalibrateSpec
    context: JobContext
    n_nodes: float
    database: SequenceDatabase | None = None
    cutter: BatchCutter | None = None
    done_cells: float = 0.0
    seconds: float = 0.0

    def scores(self, hmm: Hmm, session: Session) -> npt.NDArray[np.int32]:
        """Return the scores of the random sequences (int32[n])."""
        if self.database is None or self.cutter is None:
            self.database = random_database(hmm.alphabet, self.spec)
            rate = session.device.gcups * 1e9 or FIRST_RATE[session.device.kind]
            n_residues = max(int(rate * BATCH_SECONDS / TYPICAL_NODES), MIN_BATCH)
            self.cutter = BatchCutter(self.database, min(n_residues, residue_limit(session.device)), keep=True)
        profile = to_integer_profile(hmm)
        total = self.n_nodes * self.database.n_residues
        values = np.empty(len(self.database), np.int32)
        done = 0
        while done < len(values):
            self.context.check()
            batch = self.cutter.cut(done, len(values))
            began = time.perf_counter()
            try:
                values[done : done + len(batch)] = session.run(VITERBI, batch, profile).values
            except OutOfDeviceMemory:
                if len(batch) == 1:
                    raise
                self.cutter.resize(self.cutter.n_residues // 2, exactly=True)
                continue
            self.seconds += time.perf_counter() - began
            done += len(batch)
            self.done_cells += batch.n_cells(hmm.length)
            self.context.progress("calibrate", self.done_cells, total, "cells", profile=hmm.name)
            histogram = score_histogram(values[:done]).to_dict()
            self.context.partial(profile=hmm.name, done=done, n=self.spec.n, histogram=histogram)
        return values


def fit_profile(hmm: Hmm, session: Session, sampler: _Sampler) -> Json:
    """Score the random sequences with a profile and fit the distribution of the scores.

    Returns
    -------
    dict
        ``name``, ``length``, ``mu``, ``lambda`` (as they are written), ``n``, ``seed``, ``histogram``
        (``low``, ``width``, ``counts``), ``highest`` (score in bits), ``longest`` (residues), ``edge``,
        ``n_fitted``, ``n_censored``, ``n_outliers`` (see `clalign.values.evalues.CensoredFit`) and ``words``.

    Raises
    ------
    ClalignError
        If the scores do not fit any such distribution.
    """
    values = sampler.scores(hmm, session)
    histogram = score_histogram(values)
    fit = fit_right_side(histogram.low, histogram.counts)
    if fit is None:
        raise ClalignError(
            f"{hmm.name} could not be calibrated: its scores of random sequences are too few or too similar.",
            "Use more random sequences (--num), or other lengths (--mean, --sd).",
        )
    assert sampler.database is not None
    return {
        "name": hmm.name,
        "length": hmm.length,
        "mu": round(fit.mu, 6),
        "lambda": round(fit.slope, 6),
        "n": len(values),
        "seed": sampler.spec.seed,
        "histogram": histogram.to_dict(),
        "highest": float(values.max()) / BITS,
        "longest": sampler.database.length(0),
        "edge": fit.edge,
        "n_fitted": fit.n_fitted,
        "n_censored": fit.n_censored,
        "n_outliers": fit.n_outliers,
        "words": fit_words(fit, histogram),
    }


def fit_words(fit: CensoredFit, histogram: Histogram) -> str:
    """Return a sentence about the quality of a fit, by its distance from the scores that were fitted and its tail."""
    first = int(fit.edge) - histogram.low
    observed = histogram.counts[first:]
    edges = fit.edge + np.arange(len(observed) + 1, dtype=np.float64)
    total = fit.n_fitted + fit.n_censored
    expected = -np.diff([gumbel_tail(edge, fit.mu, fit.slope) for edge in edges]) * total
    if 0.5 * np.abs(observed - expected).sum() > POOR_DISTANCE * fit.n_fitted:
        return "Fit is poor: E-values of this profile will be rough"
    misfit = tail_misfit((fit.mu, fit.slope), edges, observed, total)
    return f"Fit is poor in the tail: {misfit}" if misfit else "Fit is good"
