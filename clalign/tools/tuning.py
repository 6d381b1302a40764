"""Tuning of a device: all searches for choices of kernels, one after the other, and what is kept of them."""

from __future__ import annotations

from dataclasses import asdict, replace

from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.tools.tuners import PairTuner, Row, SsvTuner, Tuner, ViterbiTuner
from clalign.values.devices import Device
from clalign.values.documents import JobResult

TUNERS: tuple[type[Tuner], ...] = (ViterbiTuner, SsvTuner, PairTuner)

WORDS = {tuner.family + name: words for tuner in TUNERS for name, words in tuner.choices.words().items()}
"""What each choice is called."""


def tune(device: Device, context: JobContext) -> JobResult:
    """Find the fastest choices for a device and keep them.

    Returns
    -------
    dict
        ``device`` (its name), ``tuning`` (what is kept), ``before`` (what was used until now) and
        ``rows`` (every trial: choice, value, shape, gcups, problem).

    Raises
    ------
    OptionError
        If there is nothing to tune.
    """
    from clalign.compute.opencl.discover import device_key
    from clalign.compute.opencl.tunings import keep_tuning

    if device.kind == "reference":
        raise OptionError(f"{device.name} has nothing to tune.", "Choose an OpenCL device. See: clalign devices")
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
    """Return all choices for a device, by the names that trials are told with."""
    return {kind.family + name: value for kind in TUNERS for name, value in asdict(kind.choices.of(device)).items()}


def forget(device: Device) -> JobResult:
    """Go back to the choices of the device's vendor."""
    from clalign.compute.opencl.discover import device_key
    from clalign.compute.opencl.tunings import keep_tuning

    keep_tuning(device_key(device), None)
    plain = choices_of(replace(device, tuning={}))
    return {"device": device.name, "tuning": plain, "before": choices_of(device), "rows": []}
