"""Devices as text."""

from __future__ import annotations

from clalign.common.plain_data import Json
from clalign.values.devices import Device, distinct_names
from clalign.values.documents import JobResult

from .. import formatting

KINDS = {"gpu": "GPU", "cpu": "CPU", "accelerator": "accelerator", "reference": "NumPy"}

HEALTH = {
    "ready": ("good", "Ready"),
    "not tested": ("note", "Not tested"),
    "needs linker": ("caution", "Needs a linker"),
    "self-test failed": ("stop", "Self-test failed"),
    "not usable": ("stop", "Not usable"),
}
"""Severity and title of each state of health."""

NO_DEVICE = (
    "No OpenCL device found. clalign can still search with the reference, which is slow. "
    "Install an OpenCL driver for this machine, then choose Look for devices again."
)


NOT_SOUGHT = "Devices were not looked for (safe mode). “Look again” finds them; until then the slow reference computes."

CLUSTER = "cluster"
"""The cluster in the list of devices before its address is known."""


def title(device: Device) -> str:
    """Return the title of a device."""
    return "Reference (NumPy) – slow, for checking" if device.kind == "reference" else device.name


def titles(devices: list[Device]) -> str:
    """Return the title of the first of some devices, and the number of others."""
    n = len(devices) - 1
    return f"{title(devices[0])} and {n} more" if n else title(devices[0])


def names(devices: list[Device]) -> list[str]:
    """Return the titles of devices, with ids if two are the same."""
    return [
        title(one) if one.kind == "reference" else name
        for one, name in zip(devices, distinct_names(devices), strict=True)
    ]


def health(device: Device) -> tuple[str, str]:
    """Return severity and text for the health of a device."""
    if device.kind == "reference":
        return "note", "Ready"
    return HEALTH.get(device.health, ("note", device.health))


def line(device: Device) -> str:
    """Return the second line of a device in a list."""
    parts = [health(device)[1], KINDS[device.kind]]
    if device.gcups:
        parts.append(formatting.rate(device.gcups))
    elif device.kind == "reference":
        parts.append("always available")
    return " · ".join(parts)


def facts(device: Device) -> list[tuple[str, str]]:
    """Return names and values of a device."""
    rows = [
        ("Health", health(device)[1]),
        ("Type", KINDS[device.kind]),
        ("Vendor", device.vendor),
        ("Driver", device.driver),
        ("Platform", f"{device.platform} {device.platform_version}".strip()),
        ("OpenCL", device.opencl_version),
        ("Bus", device.bus),
        ("Compute units", formatting.count(device.n_compute_units)),
        ("Clock", f"{formatting.count(device.clock_mhz)}{formatting.THIN}MHz" if device.clock_mhz else ""),
        ("Memory", formatting.size(device.memory_bytes) if device.memory_bytes else ""),
        ("Largest block", formatting.size(device.max_buffer_bytes) if device.max_buffer_bytes else ""),
        ("Local memory", formatting.size(device.local_bytes) if device.local_bytes else ""),
        ("Speed in the self-test", formatting.rate(device.gcups) if device.gcups else ""),
        ("Id", device.id),
    ]
    return [(name, value) for name, value in rows if value]


def trial(row: Json) -> str:
    """Return a trial of a tuning as a line."""
    from clalign.tools.tuning import WORDS

    came = row.get("problem") or formatting.rate(row["gcups"])
    choice = WORDS[row["choice"]]
    return f"{choice[0].upper()}{choice[1:]}: {formatting.count(row['value'])} ({row['shape']}) · {came}"


def tuning(value: JobResult) -> str:
    """Return the result of a tuning."""
    from clalign.tools.tuning import WORDS

    before = value["before"]
    changed = [
        f"{WORDS[name]}: {formatting.count(found)} (before: {formatting.count(before[name])})"
        for name, found in value["tuning"].items()
        if found != before[name]
    ]
    tried = formatting.plural(len(value["rows"]), "trial")
    what = ", ".join(changed) if changed else "the present settings were the fastest"
    return f"{value['device']} is tuned after {tried}: {what}."
