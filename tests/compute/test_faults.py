"""Drivers that fail and copies that are damaged: a word to the user, never a traceback, never another result unseen.

A small job of each engine runs with a driver that counts its calls and spoils one of them. The job must end as if
nothing had been, because it was tried once more, or with an error that a user can act on. Everyday runs spoil a few
calls of each kind; with ``--thorough`` the first, the last and others, and every one of them in turn where the
environment variable ``CLALIGN_EVERY_FAULT`` is set.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clalign.compute.opencl import binaries, discover, kernels, queues, session, transfers
from clalign.databases.examples import load_examples
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.engines.plan7.hmmer3.funnel import survivors_at
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.verify import verify_run
from clalign.errors import ClalignError
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, create_run
from clalign.values.devices import Device
from tests.computing import compute_search

CALLS = (
    "platforms", "context", "queue", "buffer", "program", "build", "kernel", "launch", "copy", "fill", "marker", "wait",
    "flush", "finish",
)  # fmt: skip
"""Calls of the driver that may fail."""

DAMAGES: dict[str, Callable[[Any], None]] = {
    "zeros": lambda content: content.fill(0),
    "ones": lambda content: content.fill(0xFF),
    "bit": lambda content: content.__setitem__(len(content) // 2, content[len(content) // 2] ^ 4),
    "random": lambda content: np.copyto(content, np.random.default_rng(3).integers(0, 256, len(content), np.uint8)),
}

CODES = (cl.status_code.OUT_OF_RESOURCES, cl.status_code.INVALID_VALUE, cl.status_code.DEVICE_NOT_AVAILABLE)


class KnownKernel(cl.Kernel):
    """A kernel that knows its arguments."""

    def __init__(self, program: Any, entry: str) -> None:
        super().__init__(program, entry)
        self.arguments: dict[int, Any] = {}

    def set_arg(self, place: int, argument: Any) -> None:
        self.arguments[place] = argument
        super().set_arg(place, argument)


class SpoiledDriver:
    """Stands for the module `pyopencl`: counts calls, and spoils one of them.

    Parameters
    ----------
    kind : str
        One of `CALLS`, a key of `DAMAGES` for copies that are damaged, or ``emptied`` for buffers that lose their
        content after a kernel has used them.
    number : int
        Which call, copy or buffer, from 1; 0 for none.
    """

    def __init__(self, kind: str = "", number: int = 0, code: int = CODES[0]) -> None:
        self.kind, self.number, self.code = kind, number, code
        self.counts: Counter[str] = Counter()
        outer = self

        class Queue(cl.CommandQueue):
            def flush(self) -> None:
                outer.call("flush")
                super().flush()

            def finish(self) -> None:
                outer.call("finish")
                super().finish()

        class Program(cl.Program):
            def build(self, *words: Any, **more: Any) -> Any:
                outer.call("build")
                return super().build(*words, **more)

        self.CommandQueue = self.counted("queue", Queue)
        self.Program = self.counted("program", Program)
        self.Context = self.counted("context", cl.Context)
        self.get_platforms = self.counted("platforms", cl.get_platforms)
        self.enqueue_fill_buffer = self.counted("fill", cl.enqueue_fill_buffer)
        self.enqueue_marker = self.counted("marker", cl.enqueue_marker)
        self.wait_for_events = self.counted("wait", cl.wait_for_events)

    def __getattr__(self, name: str) -> Any:
        return getattr(cl, name)

    def call(self, kind: str) -> None:
        """Count a call, and let it fail if it is the one."""
        self.counts[kind] += 1
        if (kind, self.counts[kind]) == (self.kind, self.number):
            record = cl._cl._ErrorRecord(msg="spoiled", code=self.code, routine=f"the call {kind}")
            is_memory = self.code == cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE
            raise (cl.MemoryError if is_memory else cl.RuntimeError)(record)

    def counted(self, kind: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*words: Any, **more: Any) -> Any:
            self.call(kind)
            return do(*words, **more)

        return counted

    def Kernel(self, program: Any, entry: str) -> KnownKernel:
        self.call("kernel")
        return KnownKernel(program, entry)

    def enqueue_nd_range_kernel(self, queue: Any, kernel: KnownKernel, *geometry: Any) -> Any:
        self.call("launch")
        event = cl.enqueue_nd_range_kernel(queue, kernel, *geometry)
        for argument in kernel.arguments.values():
            if isinstance(argument, cl.MemoryObjectHolder) and not argument.flags & cl.mem_flags.USE_HOST_PTR:
                self.counts["emptied"] += 1
                if (self.kind, self.number) == ("emptied", self.counts["emptied"]):
                    cl.enqueue_fill_buffer(queue, argument, np.zeros(1, np.uint8), 0, argument.size)
        return event

    def is_damaged(self) -> bool:
        """Count a copy, and return whether it is the one to be damaged."""
        self.counts["copies"] += 1
        return self.kind in DAMAGES and self.counts["copies"] == self.number

    def damaged(self, array: Any) -> Any:
        content = np.frombuffer(array.tobytes(), np.uint8).copy()
        DAMAGES[self.kind](content)
        return content

    def Buffer(self, context: Any, flags: int, size: int = 0, hostbuf: Any = None) -> Any:
        self.call("buffer")
        if hostbuf is None:
            return cl.Buffer(context, flags, size)
        is_copied = not flags & cl.mem_flags.USE_HOST_PTR and hostbuf.any()  # zeros are made in place, not sent
        return cl.Buffer(context, flags, hostbuf=self.damaged(hostbuf) if is_copied and self.is_damaged() else hostbuf)

    def enqueue_copy(self, queue: Any, into: Any, source: Any, **more: Any) -> Any:
        self.call("copy")
        if not self.is_damaged():
            return cl.enqueue_copy(queue, into, source, **more)
        if isinstance(source, np.ndarray):
            return cl.enqueue_copy(queue, into, self.damaged(source), **{**more, "is_blocking": True})
        event = cl.enqueue_copy(queue, into, source, **{**more, "is_blocking": True})
        DAMAGES[self.kind](into.reshape(-1).view(np.uint8))
        return event


def write_subset(path: Path, n: int) -> None:
    """Write the sequences that the bundled HMMER3 profile finds first, and some others, each as FASTA."""
    import gzip

    example = next(example for example in load_examples() if example.id == "rrm_1_hmmer3")
    names = {hit.target for hit in example.hits[:2]}
    records = gzip.decompress(Path(str(example.targets)).read_bytes()).decode().split(">")[1:]
    found = [record for record in records if record.split(None, 1)[0] in names]
    path.write_text("".join(f">{record}" for record in [*found, *records[:n]]))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small job of each engine, by its name."""
    folder = tmp_path_factory.mktemp("jobs")
    examples = {example.id: example for example in load_examples()}
    targets, queries = folder / "targets.fa", folder / "queries.fa"
    write_subset(targets, 8)
    queries.write_text(f">{targets.read_text().split('>')[1]}")
    motif, rrm = examples["motif"], examples["rrm_1_hmmer3"]
    return {
        "hmmer2": SearchSpec(profiles=str(motif.profiles), targets=str(motif.targets), device="cpu"),
        "hmmer3": SearchSpec(profiles=str(rrm.profiles), targets=str(targets), device="cpu"),
        "sw": PairwiseSpec(queries=str(queries), targets=str(targets), device="cpu", evalue=1e6),
    }


@pytest.fixture(scope="module")
def opened(cpu_device: Device) -> Device:
    return cpu_device


class Listening(QuietContext):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def warn(self, text: str) -> None:
        self.texts.append(text)


def content(run: RunFile) -> list[Any]:
    """Return everything that a run found."""
    scores = [score for _, _, values in run.scores(0) for score in values.tolist()]
    return [scores, survivors_at(run, 0, "all"), list(run.hits())]


Outcome = tuple[list[Any] | ClalignError, list[str], Counter[str]]


@pytest.fixture
def search(
    jobs: dict[str, Any], opened: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs a job with a spoiled driver; returns what it found or why not, what was told, and the calls.

    With `apart` the device is taken for one with memory of its own, to and from which everything is copied.
    """
    numbers = itertools.count()

    def search(
        name: str, *spoiled: Any, then: Callable[[RunFile], None] = lambda run: None, apart: bool = False
    ) -> Outcome:
        driver, context, spec = SpoiledDriver(*spoiled), Listening(), jobs[name]
        facts = {"engine": "pairwise" if name == "sw" else "plan7", "spec": spec.to_dict(), "direction": spec.direction}
        with monkeypatch.context() as patched, create_run(tmp_path / f"{next(numbers)}.clalign", **facts) as run:
            for module in (session, queues, transfers, kernels, binaries, discover):
                patched.setattr(module, "cl", driver)
            if apart:
                patched.setattr(session, "has_own_memory", lambda device: True)
            try:
                compute_search(run, spec, lambda words: opened, context)
            except ClalignError as error:
                return error, context.texts, driver.counts
            patched.undo()
            then(run)
            return content(run), context.texts, driver.counts

    return search


def chosen(n: int, is_thorough: bool, few: int) -> Iterator[int]:
    """Yield the numbers of the calls to spoil: few that are spread, or the first, the last and few between, or all."""
    if is_thorough and not os.environ.get("CLALIGN_EVERY_FAULT"):
        yield from sorted({1, n, *random.Random(n).sample(range(1, n + 1), min(n, few))} if n else ())
        return
    step = 1 if is_thorough else max(1, n // few)
    yield from range(1 + n % step, n + 1, step)


@pytest.mark.thorough(name=["sw"], is_thorough=[False])
@pytest.mark.exhaustive(name=["sw"])
@pytest.mark.exhaustive(is_thorough=[True])
@pytest.mark.parametrize("name", ["hmmer2", "hmmer3", "sw"])
@pytest.mark.parametrize("is_thorough", [False, True])
def test_a_call_that_fails(search: Callable[..., Outcome], name: str, is_thorough: bool) -> None:
    expected, texts, counts = search(name)
    assert not isinstance(expected, ClalignError)
    assert not any("once more" in text for text in texts)
    assert counts["launch"] > 0
    n_again = 0
    for kind in CALLS:
        for number in chosen(counts[kind], is_thorough, 2):
            found, texts, _ = search(name, kind, number, CODES[number % len(CODES)])
            if isinstance(found, ClalignError):
                assert found.hint, "what to do"
                assert kind == "platforms" or number % len(CODES) == 0, f"{kind} {number}: {found}"
                continue
            assert found == expected, f"{kind} {number} made another result"
            n_again += any("once more" in text for text in texts)
    assert n_again > 0


@pytest.mark.thorough(name=["sw"], is_thorough=[False])
@pytest.mark.exhaustive(name=["sw"])
@pytest.mark.exhaustive(is_thorough=[True])
@pytest.mark.parametrize("name", ["hmmer2", "hmmer3", "sw"])
@pytest.mark.parametrize("is_thorough", [False, True])
def test_a_copy_that_is_damaged(search: Callable[..., Outcome], name: str, is_thorough: bool) -> None:
    """Whatever was damaged on its way to the device or back, the results are the same in the end."""
    expected, _, counts = search(name, apart=True)
    n_reported = 0
    for which, damage in enumerate(DAMAGES):
        for number in chosen(counts["copies"] - which, is_thorough, 4):
            found, texts, _ = search(name, damage, number, apart=True)
            assert found == expected, f"copy {number} of {counts['copies']} with {damage} made another result"
            n_reported += any("once more" in text for text in texts)
    assert n_reported > 0


@pytest.mark.thorough(name=["sw"], is_thorough=[False])
@pytest.mark.exhaustive(name=["sw"])
@pytest.mark.exhaustive(is_thorough=[True])
@pytest.mark.parametrize("name", ["hmmer2", "hmmer3", "sw"])
@pytest.mark.parametrize("is_thorough", [False, True])
def test_a_buffer_that_is_emptied(search: Callable[..., Outcome], opened: Device, name: str, is_thorough: bool) -> None:
    """What a device loses is noticed at once, or `verify` finds it."""
    expected, _, counts = search(name, apart=True)
    verify = verify_pairwise if name == "sw" else verify_run
    for number in chosen(counts["emptied"], is_thorough, 6):
        verdicts: list[int] = []

        def judge(run: RunFile, into: list[int] = verdicts) -> None:
            into.append(verify(run, None, 10**6, opened, QuietContext())["differing"])

        found, _, _ = search(name, "emptied", number, then=judge, apart=True)
        if not isinstance(found, ClalignError) and found != expected:
            assert verdicts[0] > 0, f"buffer {number} of {counts['emptied']} made another result that nothing notices"
