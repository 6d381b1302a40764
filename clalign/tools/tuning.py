"""Tuning of a device: all searches for settings of kernels, and keeping the fastest."""

from __future__ import annotations

from dataclasses import asdict, replace

from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.tools.tuners import PairTuner, Row, SsvTuner, Tuner, ViterbiTuner
from clalign.values.devices import Device
from clalign.values.documents import JobResult

TUNERS: tuple[type[Tuner], ...] = (ViterbiTuner, SsvTuner, PairTuner)

WORDS = {tuner.family + name: words for tuner in TUNERS for name, words in tuner.choices.words().items()}
"""Names of settings for users."""


def tune(device: Device, context: JobContext) -> JobResult:
    """Find the fastest choices for a device and keep them.

    Returns
    -------
    dict
        ``device`` (its name), ``tuning`` (the settings kept), ``before`` (those used until now) and
        ``rows`` (all trials: choice, value, shape, gcups, problem).

    Raises
    ------
    OptionError
        If there is nothing to tune.
    """
    from clalign.compute.opencl.discover import device_key
    from clalign.compute.opencl.tunings import keep_tuning

    if device.kind == "reference":
        raise OptionError(f"{device.name} has nothing to tune.", "Choose an OpenCL device; see: clalign devices")
    tuners = [kind(replace(device, tuning={}), context) for kind in TUNERS]
    kept: dict[str, int] = {}
    found: dict[str, int] = {}
    rows: list[Row] = []
    for place, tuner in enumerate(tuners):
        tuner.n_before, tuner.n_after = len(rows), sum(other.n_trials for other in tuners[place + 1 :])
        choices = asdict(tuner.find())
        found |= {tuner.family + name: value for name, value in choices.items()}
        kept |= {tuner.choices.prefix + name: value for name, value in choices.items()}
        rows += tuner.rows
    keep_tuning(device_key(device), kept)
    return {"device": device.name, "tuning": found, "before": choices_of(device), "rows": rows}


def choices_of(device: Device) -> dict[str, int]:
    """Return all settings of a device, by their names in trials."""
    return {kind.family + name: value for kind in TUNERS for name, value in asdict(kind.choices.of(device)).items()}


def forget(device: Device) -> JobResult:
    """Return to the built-in settings of a device."""
    from clalign.compute.opencl.discover import device_key
    from clalign.compute.opencl.tunings import keep_tuning

    keep_tuning(device_key(device), None)
    plain = choices_of(replace(device, tuning={}))
    return {"device": device.name, "tuning": plain, "before": choices_of(device), "rows": []}
