"""The devices of the workers of a cluster, asked for before a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from clalign.compute.sessions import ProgramChoice
from clalign.errors import DeviceNotFound
from clalign.execution.cluster import worker
from clalign.execution.cluster.connection import Connection
from clalign.execution.cluster.worker_clients import named
from clalign.values.devices import Device
from clalign.values.documents import DeviceFields

Unbuilt = Callable[[Sequence[ProgramChoice]], Sequence[ProgramChoice]]


def devices_of(connection: Connection, words: str, warn: Callable[[str], None]) -> list[tuple[Device, Unbuilt]]:
    """Return the devices of all workers, each with a callable that returns which programs it has to compile.

    Where several workers of a machine have the same device, its speed is divided among them.

    Parameters
    ----------
    connection : Connection
    words : str
        Words for the devices of each worker.
    warn : callable
        Called with warnings of workers that would not take part.

    Raises
    ------
    DeviceNotFound
        If there are workers, but none with such a device, or with other versions than here.
    """
    connection.check_versions()
    workers = connection.workers()
    looks = connection.asked(worker.look, words, workers=workers)
    refused = []
    for address, name in workers.items():
        look = looks.get(address)
        if look is None:
            refused.append(f"The worker {name} does not answer.")
        elif look.problem is not None:
            refused.append(f"The worker {name} does not take part: {' '.join(look.problem)}")
        else:
            for text in look.texts:
                warn(f"{name}: {text}")
    if workers and len(refused) == len(workers):
        raise DeviceNotFound(f"No worker of the cluster can be used. {refused[0]}", "See: clalign devices, there.")
    for text in refused:
        warn(text)
    n_sharing = Counter((look.host, facts["id"]) for look in looks.values() for facts in look.devices)
    found: list[tuple[Device, Unbuilt]] = []
    for address, look in looks.items():
        for facts in look.devices:
            device = Device.from_dict(facts)
            part = replace(device, gcups=device.gcups / n_sharing[look.host, device.id])
            found.append((named(part, workers[address]), partial(_unbuilt, connection, address, facts)))
    return found


def _unbuilt(
    connection: Connection, address: str, device: DeviceFields, choices: Sequence[ProgramChoice]
) -> Sequence[ProgramChoice]:
    answers = connection.asked(worker.unbuilt, device, choices, workers=[address] if choices else [])
    return answers.get(address, choices)
