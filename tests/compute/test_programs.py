"""Programs that are built ahead."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from clalign.compute.opencl import programs as opencl_programs
from clalign.compute.opencl.builder_process import BuilderProcess
from clalign.compute.opencl.choice import Devices, pick_device
from clalign.compute.opencl.kernels import is_kept
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.sessions import ProgramChoice, no_build_report, no_check
from clalign.errors import KernelBuildError, OutOfDeviceMemory
from clalign.values.devices import Device

TEXT = "__kernel void first(__global int *out) { out[get_global_id(0)] = CHOICE; }"
BOTH = f"{TEXT}\n__kernel void second(__global int *out) {{ out[get_global_id(0)] = CHOICE + 1; }}"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenCLSession]:
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: name)
    with OpenCLSession(pick_device("cpu")) as opened:
        yield opened


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, str]]:
    """The choices that were built, and the names of the threads that did."""
    found: list[tuple[object, str]] = []
    build = opencl_programs.build

    def noted(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        found.append((defines.get("CHOICE"), threading.current_thread().name))
        return build(context, device_name, source, defines)  # type: ignore[arg-type]

    monkeypatch.setattr(opencl_programs, "build", noted)
    return found


def computed(session: OpenCLSession, entry: str, choice: int, text: str = TEXT) -> int:
    out = session.zeros(4)
    session.launch(text, entry, {"CHOICE": choice}, 1, 1, out)
    return int(session.download(out, 1, np.int32)[0])


def test_all_kernels_of_a_file_are_of_one_program(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    assert [computed(session, entry, 5, BOTH) for entry in ("first", "second", "first")] == [5, 6, 5]
    with session.second_queue() as other:
        assert computed(other, "second", 5, BOTH) == 6
    assert [choice for choice, _ in built] == [5]
    assert computed(session, "first", 6) == 6
    assert len(built) == 2


def test_programs_are_built_ahead_in_order(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (3, 4)])
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (4, 3, 7)])
    assert [computed(session, "first", n) for n in (3, 4, 7)] == [3, 4, 7]
    assert sorted(choice for choice, _ in built) == [3, 4, 7]  # type: ignore[type-var]
    assert session._programs.counts == (3, 3)


def open_with(devices: Devices, device: Device) -> OpenCLSession:
    session = devices.open(device, no_check, no_build_report)
    assert isinstance(session, OpenCLSession)
    return session


def test_a_device_is_left_to_the_next_session_of_a_process_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, built: list[tuple[object, str]]
) -> None:
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: name)
    cpu, devices = pick_device("cpu"), Devices()
    with open_with(devices, cpu) as first, open_with(devices, cpu) as beside:
        assert computed(first, "first", 11, BOTH) == 11
        assert beside._context != first._context
    assert not first._programs._is_closed, "its builders end when nobody waits for the job any more,"
    devices.end_builders()
    assert first._programs._is_closed
    with open_with(devices, cpu) as second:
        assert second._context in (first._context, beside._context)
    devices.rest()
    with open_with(devices, cpu) as second:
        assert second._context == first._context, "what was left last"
        assert [computed(second, entry, 11, BOTH) for entry in ("first", "second")] == [11, 12]
        assert second._programs.counts == (0, 0)
    assert len(built) == 1
    with open_with(devices, cpu):
        assert second._programs._is_closed, "or another session begins"
    with suppress(OutOfDeviceMemory), open_with(devices, cpu) as failed:
        raise OutOfDeviceMemory("There is too little.", "Close others.")
    assert failed._programs._is_closed
    with open_with(devices, cpu) as third:
        assert third._context != first._context, "a device that failed is opened afresh"
    for is_there in (True, True, True, False):  # the job that used it, two others, and the third
        devices.rest()
        assert devices.is_open(cpu) == is_there


def test_a_session_of_its_own_closes_its_device(built: list[tuple[object, str]]) -> None:
    cpu = pick_device("cpu")
    with OpenCLSession(cpu) as first:
        pass
    assert first._programs._is_closed
    with OpenCLSession(cpu) as second:
        assert second._context != first._context


def test_a_device_that_was_left_is_not_built_for_here(
    monkeypatch: pytest.MonkeyPatch, built: list[tuple[object, str]]
) -> None:
    monkeypatch.setattr(opencl_programs, "MIN_NEW_PROGRAMS", 99)
    begun, may_end, build, devices = threading.Event(), threading.Event(), opencl_programs.build, Devices()

    def slow(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        begun.set()
        assert may_end.wait(60)
        return build(context, device_name, source, defines)  # type: ignore[arg-type]

    monkeypatch.setattr(opencl_programs, "build", slow)
    with open_with(devices, pick_device("cpu")) as session:
        session.build_ahead([ProgramChoice.of("ssv_vector", {"MOST": n}) for n in range(3)])
        (thread,) = [one for one in threading.enumerate() if one.name.startswith("builder")]
        assert begun.wait(60)
    may_end.set()
    thread.join(60)
    assert not thread.is_alive()
    assert len(built) == 1, "what the compiler was at"
    devices.end_builders()


def test_one_thread_at_a_time_builds_and_what_is_needed_now_comes_first(
    session: OpenCLSession, built: list[tuple[object, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_begun, is_held, build, busy = threading.Event(), threading.Event(), opencl_programs.build, threading.Lock()

    def slow(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        assert busy.acquire(blocking=False), "drivers are asked by one thread at a time"
        try:
            if defines["CHOICE"] == 1:
                is_begun.set()
                assert is_held.wait(60)
            return build(context, device_name, source, defines)  # type: ignore[arg-type]
        finally:
            busy.release()

    monkeypatch.setattr(opencl_programs, "build", slow)
    choices = [ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (1, 2, 3, 4, 5)]
    programs = session._programs
    session.build_ahead(choices[:1])
    assert is_begun.wait(60)
    session.build_ahead(choices[1:2], can_wait=True)
    session.build_ahead(choices[2:])
    needed = threading.Thread(target=programs.get, args=(choices[4],))
    needed.start()
    while not programs._n_needed:
        needed.join(0.01)
    is_held.set()
    needed.join(60)
    assert [computed(session, "first", n) for n in (4, 3, 1)] == [4, 3, 1]
    assert computed(session, "first", 2) == 2
    order = [choice for choice, _ in built]
    assert order[:2] == [1, 5]
    assert sorted(order) == [1, 2, 3, 4, 5]  # type: ignore[type-var]


def test_who_is_interrupted_while_another_builds_holds_up_nobody(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C in a notebook: threads that build ahead would wait forever."""
    programs = session._programs
    with monkeypatch.context() as patched:
        patched.setattr(programs._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            programs.get(ProgramChoice.of(TEXT, {"CHOICE": 1}))
    ahead = ProgramChoice.of(TEXT, {"CHOICE": 2})
    session.build_ahead([ahead])
    programs._futures[ahead].result(60)
    assert computed(session, "first", 1) == 1


def interrupted(is_so: object) -> None:
    raise KeyboardInterrupt


def test_programs_that_can_wait_come_last(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    first, later, sooner = (ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in (20, 21, 22))
    with session._programs._alone(is_needed=False):
        session.build_ahead([first])  # the thread that builds has it in hand
        while session._programs._waiting or session._programs._new:
            time.sleep(0.01)
        session.build_ahead([later], can_wait=True)
        session.build_ahead([sooner])
    for future in list(session._programs._futures.values()):
        future.result(60)
    assert [choice for choice, _ in built] == [20, 22, 21]


def test_a_card_s_programs_that_can_wait_are_left_to_children(built: list[tuple[object, str]]) -> None:
    """The driver's compiler would hold up the end of a small job."""
    later, needed = (ProgramChoice.of("peak_item", {"FRESH": n, "RUN": os.getpid()}) for n in (23, 24))
    with OpenCLSession(card_like(pick_device("cpu"))) as session:
        session.build_ahead([later], can_wait=True)
        session.build_ahead([needed])
        session._programs._futures[needed].result(60)
        assert not session._programs.is_built(later)
        session._programs.get(later)
    assert len(built) == 2


def test_what_a_child_is_at_is_not_there_though_the_cache_has_it(session: OpenCLSession) -> None:
    choice = ProgramChoice.of(TEXT, {"CHOICE": 30, "RUN": os.getpid()})
    assert session.unbuilt([choice]) == [choice]
    session._programs.get(choice)
    assert session.unbuilt([choice]) == []
    with OpenCLSession(session.device) as other:
        assert other.unbuilt([choice]) == [], "it is in the cache"
        with other._programs._alone(is_needed=False):
            other.build_ahead([choice])
            assert other.unbuilt([choice]) == [choice]
        other._programs.get(choice)
        assert other.unbuilt([choice]) == []


def card_like(cpu: Device) -> Device:
    return replace(cpu, kind="gpu", vendor="nobody")


def test_children_build_what_a_card_needs(monkeypatch: pytest.MonkeyPatch, built: list[tuple[object, str]]) -> None:
    asked: list[ProgramChoice] = []
    by_child = BuilderProcess.build

    def noted(child: BuilderProcess, choice: ProgramChoice) -> None:
        by_child(child, choice)
        assert is_kept(context, choice.source, choice.defines), "it is to be taken from the cache"
        asked.append(choice)

    monkeypatch.setattr(BuilderProcess, "build", noted)
    monkeypatch.setattr(opencl_programs, "MIN_NEW_PROGRAMS", 0)
    fresh = [ProgramChoice.of("peak_item", {"FRESH": n, "RUN": os.getpid()}) for n in range(4)]
    with OpenCLSession(card_like(pick_device("cpu"))) as session:
        context = session._context
        session.build_ahead(fresh)
        for choice in reversed(fresh):
            session._programs.get(choice)
        assert session._programs.counts == (4, 4)
    assert len(built) == 4
    assert set(asked) <= set(fresh)


class MadeUpChild(BuilderProcess):
    """One that is no process."""

    def __init__(self) -> None:
        self._process, self._is_ready = None, True

    def build(self, choice: ProgramChoice) -> None:
        """Leave it to the other side."""


@pytest.mark.thorough
def test_children_without_work_end_and_others_begin_when_there_is_some(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencl_programs, "MIN_NEW_PROGRAMS", 0)
    monkeypatch.setattr(opencl_programs, "IDLE_SECONDS", 0.05)
    programs = opencl_programs.Programs(session._context, "card", MadeUpChild)
    for at in (60, 70):
        before = len(programs._children)
        choices = [ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in range(at, at + 4)]
        programs.build_ahead(choices)
        for wanted in choices:
            programs.get(wanted)
        while programs._n_children or programs._n_ready:
            time.sleep(0.01)
        assert len(programs._children) > before
    assert programs.counts == (8, 8)
    programs.close()


@pytest.mark.thorough
def test_children_do_not_wait_for_a_long_compilation_here(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One held up all that children had made, so that a first use took three times as long."""
    build, are_made = opencl_programs.build, threading.Event()
    choices = [ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in range(40, 46)]
    were_made: dict[object, bool] = {}

    class Child(MadeUpChild):
        def build(self, choice: ProgramChoice) -> None:
            build(session._context, "child", choice.source, choice.defines)
            if sum(is_kept(session._context, one.source, one.defines) for one in choices) == len(choices) - 1:
                are_made.set()

    def noted(context: cl.Context, device_name: str, source: str, defines: dict[str, object]) -> cl.Program:
        were_made[defines["CHOICE"]] = is_kept(context, source, defines)
        if defines["CHOICE"] == 40:
            assert are_made.wait(60), "children go on meanwhile"
        return build(context, device_name, source, defines)

    monkeypatch.setattr(opencl_programs, "build", noted)
    monkeypatch.setattr(opencl_programs, "MIN_NEW_PROGRAMS", 1)
    programs = opencl_programs.Programs(session._context, "card", Child)
    programs.build_ahead(choices[:1])
    while programs._new:  # this process has it in hand
        time.sleep(0.01)
    programs.build_ahead(choices[1:])
    for future in list(programs._futures.values()):
        future.result(60)
    programs.close()
    assert were_made == {40: False, **dict.fromkeys(range(41, 46), True)}


def test_a_child_answers_and_ends() -> None:
    device = pick_device("cpu")
    choice = ProgramChoice.of("peak_item", {"FRESH": 77, "RUN": os.getpid()})
    with OpenCLSession(device) as session, BuilderProcess(device) as child:
        assert child.is_ready()
        assert not is_kept(session._context, choice.source, choice.defines)
        for _ in range(2):
            child.build(choice)
            assert child.is_ready()
        assert is_kept(session._context, choice.source, choice.defines)
        child.build(ProgramChoice.of("filters_item", {"uint": "no type"}))
        assert child.is_ready(), "what cannot be built is told where it is needed"
        process = child._process
    assert process is not None
    assert process.poll() is not None


@pytest.mark.parametrize("command", [["false"], ["/nowhere/at/all"]])
def test_without_children_programs_are_built_here(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.compute.opencl.builder_process.own_command", lambda *words: command)
    monkeypatch.setattr(opencl_programs, "MIN_NEW_PROGRAMS", 0)
    fresh = [ProgramChoice.of("peak_item", {"FRESH": n, "RUN": f"{os.getpid()}{len(command[0])}"}) for n in range(2)]
    with OpenCLSession(card_like(pick_device("cpu"))) as session:
        session.build_ahead(fresh)
        for choice in fresh:
            session._programs.get(choice)
        assert session._programs.counts == (2, 2)


def test_an_error_is_reported_when_the_program_is_needed(session: OpenCLSession) -> None:
    session.build_ahead([ProgramChoice.of("__kernel void none( {", {})])
    assert computed(session, "first", 1) == 1
    for _ in range(2):
        with pytest.raises(KernelBuildError):
            session.launch("__kernel void none( {", "none", {}, 1, 1)


def test_what_memory_was_short_for_is_built_again(session: OpenCLSession, monkeypatch: pytest.MonkeyPatch) -> None:
    build, n_builds = opencl_programs.build, [0]

    def short(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        n_builds[0] += 1
        if n_builds[0] == 1:
            raise cl.MemoryError("clBuildProgram", cl.status_code.OUT_OF_HOST_MEMORY)
        return build(context, device_name, source, defines)  # type: ignore[arg-type]

    monkeypatch.setattr(opencl_programs, "build", short)
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": 8})])
    with suppress(OutOfDeviceMemory):  # if it comes so soon that it waits for what fails
        computed(session, "first", 8)
    assert computed(session, "first", 8) == 8


def test_nothing_is_built_ahead_for_a_session_that_is_closed(built: list[tuple[object, str]]) -> None:
    with OpenCLSession(pick_device("cpu")) as session:
        pass
    session.build_ahead([ProgramChoice.of("ssv_vector", {})])
    assert not built
