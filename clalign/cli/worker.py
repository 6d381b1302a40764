"""``clalign worker``: runs one job for the window or the command line, in a process of its own.

A driver that crashes or hangs ends this process, never the one that a user looks at. The job comes
as one JSON object on the first line of standard input, commands on the lines after it; events leave
on standard output, one JSON object a line.

The window's worker stays after a job that was finished, with its modules, its drivers, the contexts of the devices
that the job computed on and the programs that were built in them, so that the next run begins at once. It ends when a
job was not finished, since whatever has failed may have harmed it; when it was idle for long or memory is short; and
with the window.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import importlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clalign import tracing
from clalign.cli.environment import begin_loading, end_loading, leave_threads_out, log_level
from clalign.cli.parser import CommandParser
from clalign.cli.preloading import Idle, Preloading
from clalign.cli.profiling import record_start, worker_profiled
from clalign.cli.starting import forget_mark
from clalign.cli.streams import private_stdout
from clalign.cli.worker_commands import Orders
from clalign.compute.opencl.choice import Devices, all_devices, pick_device
from clalign.errors import Cancelled, ClalignError, ExitCode, OptionError, RunExists
from clalign.jobs import TEST, Event, Job, JobContext
from clalign.values.checked import plain
from clalign.values.devices import REFERENCE, Device, needs_drivers
from clalign.values.documents import JobRequest, JobResult

if TYPE_CHECKING:
    from clalign.engines.engine import Engine
    from clalign.execution.job import Task
    from clalign.runs.run_file import RunFile
    from clalign.values.specs import Spec


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("engine", nargs="?", help="of the run that the job will be")
    parser.add_argument("--device", default="", help="that it will be computed on")
    parser.add_argument("--stay", action="store_true", help="wait for another job when one is finished")


def run(arguments: argparse.Namespace) -> int:
    """Read a job from standard input, run it, and report on standard output; go on with others if it stays."""
    begin_loading()
    faulthandler.enable(all_threads=False)  # where it was when a driver crashes
    record_start()
    for name in ("SIGINT", "SIGHUP"):  # the parent decides what they mean
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    logging.basicConfig(stream=sys.stderr, level=log_level())
    events = private_stdout()

    def send(event: Event) -> None:
        events.write(event.to_json() + "\n")
        events.flush()

    preloading = Preloading()
    if arguments.engine:
        preloading.load(arguments.engine, arguments.device)
    code = serve(Orders(send), preloading, stays=arguments.stay)
    if (local_cluster := sys.modules.get("clalign.execution.cluster.local_cluster")) is not None:
        local_cluster.end()
    if code is None:
        preloading.let_drivers_settle()
        raise OptionError(
            "The worker was given no job.", "It is started by the window and the other commands, not by hand."
        )
    with contextlib.suppress(OSError):
        events.close()
    sys.stderr.flush()
    forget_mark(os.getpid())
    # Everything is reported and stored. What drivers do when a process ends takes time, and some crash in it.
    os._exit(code)


def serve(orders: Orders, preloading: Preloading, stays: bool) -> int | None:
    """Do one job, or all that come as long as they are finished; return the exit code, None if no job came.

    Parameters
    ----------
    orders : Orders
    preloading : Preloading
        What was loaded for the first job; keeps the devices for the others.
    stays : bool
        Whether to wait for another job after the first.
    """
    code, idle = None, Idle()
    if stays:
        leave_threads_out()
    while (order := orders.next(idle.may_last if code is not None else lambda: True)) is not None:
        request, job = order
        if job is None:
            preloading.load(request["prepare"], request.get("device", ""))
            idle = Idle()
            continue
        came = None if code is None else tracing.now()
        preloading.join()  # modules that load each other must not be loaded by two threads
        end_loading()
        code = perform(request, job, came, preloading.devices)
        preloading.devices.end_builders()
        if not stays or code != ExitCode.DONE or job.is_cancelled:
            break
        del request, job, order
        preloading.devices.rest()
        gc.collect()
        idle = Idle()
    return code


def perform(request: JobRequest, job: Job, began: int | None = None, devices: Devices | None = None) -> int:
    """Run a job and send its last event; return the exit code.

    This is where a job ends, so it is where every exception is caught.

    Parameters
    ----------
    request : dict
    job : Job
    began : int, optional
        When it came, on the host's clock (ns), for a profile of it; by default when this process was started.
    devices : Devices, optional
        What is known of devices, and open, from before; by default nothing.
    """
    try:
        job.send("started", **request)
        with worker_profiled(request, job, began):
            value = _job_named(request["job"], devices or Devices())(request, job)
        job.send("finished", **value)
    except Cancelled:
        job.send("cancelled", run=request.get("run"))
        return ExitCode.STOPPED
    except ClalignError as error:
        answer = {"message": error.message, "hint": error.hint, "exit_code": int(error.exit_code), "traceback": None}
        job.send("failed", **answer, run_exists=isinstance(error, RunExists))
        return int(error.exit_code)
    except BrokenPipeError:  # nobody listens any more
        return ExitCode.STOPPED
    except MemoryError:
        text, hint = "There is too little memory.", "Close other programs, or search a smaller database."
        job.send("failed", message=text, hint=hint, exit_code=int(ExitCode.MEMORY), traceback=None)
        return ExitCode.MEMORY
    except Exception as error:
        job.send(
            "failed",
            message=f"clalign met a fault of its own ({type(error).__name__}: {error}).",
            hint="Please report it with the text below.",
            exit_code=int(ExitCode.ENGINE),
            traceback=traceback.format_exc(),
        )
        return ExitCode.ENGINE
    return ExitCode.DONE


def _job_named(name: str, devices: Devices) -> Callable[[JobRequest, Job], JobResult]:
    """Return the function that does a job: one of `JOBS` or `JOBS_OF_RUNS`, or the computing of an engine."""
    from clalign.engines.engine import engine_for

    if name in JOBS:
        return JOBS[name]
    if name in JOBS_OF_RUNS:
        return partial(JOBS_OF_RUNS[name], devices=devices)
    engine = engine_for(name)
    if engine is None:
        raise KeyError(name)
    return partial(_compute, engine, devices=devices)


def _task(file: RunFile, spec: Spec, job: JobContext, devices: Devices, is_dry_run: bool = False) -> Task[Spec]:
    """Return a run to be computed, on one device or several."""
    from clalign.execution.job import Task

    notify = partial(_report_test, job)
    pick, pick_several = partial(devices.pick, notify=notify), partial(devices.pick_several, notify=notify)
    return Task(file, spec, pick, job, pick_devices=pick_several, open_session=devices.open, is_dry_run=is_dry_run)


def _picker(job: Job) -> Callable[[str], Device]:
    """Return a callable that picks the device for the user's words, and notifies the job if that takes long."""
    return partial(pick_device, notify=partial(_report_test, job))


def _report_test(job: JobContext, text: str) -> None:
    """Report what takes long before anything is computed: a device that is tested for the first time."""
    job.warn(text)
    job.progress(TEST, 0, None, "")


def _compute(engine: Engine, request: JobRequest, job: JobContext, devices: Devices) -> JobResult:
    with tracing.span("load modules", "start"):
        importlib.import_module("clalign.execution.job")
        from clalign.runs.run_file import create_run

    spec = engine.spec.from_dict(request["spec"]).settled()
    path = Path(request["run"])
    with tracing.span("make the run file", "storing"):
        made = create_run(
            path, engine=engine.name, spec=spec.to_dict(), state="new",
            seen_digest=request.get("seen_digest"),  # of the sequences when the user looked at them
            command=request.get("command"),  # the words that were typed
        )  # fmt: skip
    with made as file:
        if request.get("temporary"):
            file.make_temporary()
        is_dry_run = bool(request.get("dry_run"))
        task = _task(file, spec, job, devices, is_dry_run)
        return engine.dry_run(task) if is_dry_run else engine.compute(task)


def _engine(request: JobRequest) -> Engine:
    """Return the engine that a job is ``of``, by the name of the engine's own job."""
    from clalign.engines.engine import engine_for

    engine = engine_for(request["of"])
    assert engine is not None
    return engine


def _dry_run(request: JobRequest, job: Job, devices: Devices) -> JobResult:
    """Return the time and memory that a run would take, of which nothing is kept."""
    from clalign.formats.scratch import Scratch, remove_orphans

    remove_orphans()  # of those that the window has ended, since another spec was filled in
    with Scratch() as folder:
        run = {"run": str(folder / "dry_run.clalign"), "temporary": True, "dry_run": True}
        return _compute(_engine(request), {**request, **run}, job, devices)


def _resume(request: JobRequest, job: Job, devices: Devices) -> JobResult:
    from clalign.engines.engine import engine_of, one_more_round, spec_of, spec_to_continue
    from clalign.runs.inputs import check_inputs
    from clalign.runs.run_file import open_run

    path, is_dry_run, device = Path(request["run"]), bool(request.get("dry_run")), request.get("device")
    with open_run(path, writable=not is_dry_run) as file:
        if "-" in spec_of(file).paths:
            raise OptionError(
                f"{path} cannot be continued, because its input came from standard input.",
                "Search again with the input in a file.",
            )
        if (chosen := request.get("one_more")) is not None:
            spec = one_more_round(file, chosen.get("take", ()), chosen.get("drop", ()), device, job)
        else:
            spec = spec_to_continue(file, device)
        if file.state == "done":
            return {**(file.facts.finished or {}), "was_complete": True}
        if file.facts.database is None:
            check_inputs(file, job)  # else the search does it
        engine = engine_of(file)
        if is_dry_run and file.facts.database is None:
            return _dry_run({"of": engine.job, "spec": spec.to_dict()}, job, devices)
        task = _task(file, spec, job, devices, is_dry_run)
        return engine.dry_run(task) if is_dry_run else engine.compute(task)


def _inspect(request: JobRequest, job: Job) -> JobResult:
    from clalign.databases.loading import load_database
    from clalign.formats.profiles import load_profiles, profile_card
    from clalign.formats.recognize import recognize

    path = request["path"]
    kind = recognize(path)
    if kind == "profiles":
        return {"kind": "profiles", "path": path, "profiles": [profile_card(hmm) for hmm in load_profiles(path)]}
    if kind == "run":
        return {"kind": "run", "path": path}
    _, report = load_database(
        path, alphabet=request.get("alphabet", "auto"), sequence_format=request.get("format", "auto"), context=job
    )
    return {"kind": "sequences", "path": path, "report": plain(report)}


def _devices(request: JobRequest, job: Job) -> JobResult:
    return {"devices": [device.to_dict() for device in all_devices(bool(request.get("refresh")), job.warn)]}


def _self_test(request: JobRequest, job: Job) -> JobResult:
    number = request["device"]
    known = all_devices(notify=job.warn) if needs_drivers(number) else [REFERENCE]
    device = next((d for d in known if d.id == number), None)
    if device is None:
        raise OptionError(f"There is no device {number}.", "See: clalign devices")
    return _engine(request).self_test(device, job)


def _verify(request: JobRequest, job: Job) -> JobResult:
    from clalign.engines.engine import engine_of
    from clalign.runs.run_file import open_run

    with open_run(Path(request["run"]), writable=True) as file:
        device = _picker(job)(request.get("device") or "reference")
        return engine_of(file).verify(file, request.get("hits"), request.get("sample"), device, job)


def _explain(request: JobRequest, job: Job) -> JobResult:
    from clalign.engines.engine import explain_in_run

    number = int(request.get("profile", 0))
    target = request["name"] if "name" in request else int(request["row"])
    if "run" not in request:
        engine = _engine(request)
        spec = engine.spec.from_dict(request["spec"])
        return engine.explain_files(spec, number, target, _picker(job), job)
    device = request.get("device")
    return explain_in_run(Path(request["run"]), number, target, lambda words: _picker(job)(device or words), job)


def _export(request: JobRequest, job: Job) -> JobResult:
    from clalign.engines.engine import engine_of
    from clalign.engines.export import export
    from clalign.runs.run_file import open_run

    path, what = Path(request["run"]), request["what"]
    written = export(path, what, request["path"], request.get("hits"), job, **request.get("how", {}))
    with open_run(path) as run:
        counts = next(one.counts for one in engine_of(run).exports if one.name == what)
    return {"written": written, "path": request["path"], "counts": counts}


def _merge(request: JobRequest, job: Job) -> JobResult:
    from clalign.engines.merging import Merging, merge_runs

    how = Merging(request.get("device") or "auto", _picker(job), job, request.get("locate") or ())
    return merge_runs([Path(path) for path in request["runs"]], Path(request["run"]), how)


def _locate(request: JobRequest, job: Job) -> JobResult:
    from clalign.runs.inputs import relocate
    from clalign.runs.run_file import open_run

    with open_run(Path(request["run"]), writable=True) as file:
        return {"found": relocate(file, request["paths"], job)}


def _synchronization(request: JobRequest, job: Job) -> JobResult:
    from clalign.labs.synchronization import SynchronizationSpec, run_synchronization

    return {"synchronization": run_synchronization(SynchronizationSpec.from_dict(request), job)}


def _publication(request: JobRequest, job: Job) -> JobResult:
    from clalign.labs.publication_lab import PublicationSpec, run_publication

    name = request["job"]
    return {name: run_publication(PublicationSpec.from_dict({**request, "source": name.rpartition("_")[2]}), job)}


def _ladder(request: JobRequest, job: Job) -> JobResult:
    from clalign.labs.register import LADDERS

    ladder = next(ladder for ladder in LADDERS.values() if ladder.job == request["job"])
    return {ladder.job: ladder.run(ladder.spec.from_dict(request), job)}


def _calibrate(request: JobRequest, job: Job) -> JobResult:
    from clalign.tools.calibrate import calibrate, spec_of

    device = _picker(job)(request.get("device") or "auto")
    return calibrate(request["profiles"], request["output"], spec_of(request), device, job)


def _bench(request: JobRequest, job: Job) -> JobResult:
    from clalign.labs.device_comparison import run_bench

    return {"comparison": run_bench(request, job)}


def _compare_searches(request: JobRequest, job: Job, devices: Devices) -> JobResult:
    from clalign.formats.scratch import Scratch
    from clalign.labs.search_comparison import compare_searches

    engine, known = _engine(request), all_devices(notify=job.warn)
    chosen = [device for device in known if device.id in request["devices"]]
    spec = engine.spec.from_dict(request["spec"]).settled().to_dict()

    def compute(device: Device, path: Path, context: JobContext) -> JobResult:
        of = {"spec": {**spec, "device": device.id}, "run": str(path), "temporary": True}
        return _compute(engine, of, context, devices)

    with Scratch() as folder:
        return {"search_comparison": compare_searches(chosen, request["command"], compute, folder, job)}


def _tune(request: JobRequest, job: Job) -> JobResult:
    from clalign.tools.tuning import forget, tune

    device = _picker(job)(request.get("device") or "auto")
    return forget(device) if request.get("reset") else tune(device, job)


def _hmmbuild(request: JobRequest, job: Job) -> JobResult:
    import dataclasses

    from clalign.building.specs import BuildSpec
    from clalign.cli.inputs import in_alignments
    from clalign.tools.hmm_building import build_profiles

    names = {field.name for field in dataclasses.fields(BuildSpec)}
    spec = BuildSpec(**{name: value for name, value in request.items() if name in names})
    with in_alignments(request["alignment"]) as (alignment,):
        device = _picker(job)(request.get("device") or "auto")
        resave = request.get("resave", os.devnull)
        return build_profiles(alignment, request["output"], spec, device, job, resave)


def _hmmalign(request: JobRequest, job: Job) -> JobResult:
    from clalign.tools.hmm_aligning import align_to_profile
    from clalign.tools.specs import AlignSpec

    spec = AlignSpec(**{name: request[name] for name in AlignSpec.__struct_fields__ if name in request})
    device = _picker(job)(request.get("device") or "auto")
    return align_to_profile(request["profile"], request["sequences"], request["output"], spec, device, job)


def _tree(request: JobRequest, job: Job) -> JobResult:
    from clalign.cli.inputs import guide_tree_of, in_alignments
    from clalign.formats.distances import write_phylip, write_tsv
    from clalign.formats.writers import whole_file

    with contextlib.ExitStack() as stack:
        (alignment,) = stack.enter_context(in_alignments(request["alignment"]))
        found = guide_tree_of(request["alignment"], alignment, request["kind"], stack, job)
    matrix, tree = request.get("matrix"), found.tree.rooted_in_the_middle()
    if matrix:
        write = write_tsv if matrix.lower().endswith(".tsv") else write_phylip
        with whole_file(matrix) as stream:
            write(found.names, found.distances, stream)
    return {"names": list(tree.names), "parents": tree.parents.tolist(), "lengths": tree.lengths.tolist(),
            "kind": request["kind"], "matrix": matrix}  # fmt: skip


def _change(request: JobRequest, job: Job) -> JobResult:
    import dataclasses

    from clalign.cli.inputs import in_alignments

    changes = _engine(request).changes
    make = changes.choice.get()
    choice = make(**{field.name: request[field.name] for field in dataclasses.fields(make)})
    path, device = request["alignment"], _picker(job)(request["device"])
    what = request["sequences"] if request["job"] == "add" else range(request["first"], request["last"])
    change = changes.kinds[request["job"]].get()
    with in_alignments(path) as (alignment,):
        return change(alignment, what, request["output"], request["form"], choice, device, job)


JOBS: dict[str, Callable[[JobRequest, Job], JobResult]] = {
    "inspect": _inspect,
    "devices": _devices,
    "selftest": _self_test,
    "verify": _verify,
    "explain": _explain,
    "hmmbuild": _hmmbuild,
    "hmmalign": _hmmalign,
    "export": _export,
    "locate": _locate,
    "merge": _merge,
    "calibrate": _calibrate,
    "bench": _bench,
    "ladder": _ladder,
    "smith_waterman_ladder": _ladder,
    "pair_hmm_ladder": _ladder,
    "synchronization": _synchronization,
    **dict.fromkeys(("publication_001", "publication_002", "publication_003", "publication_004"), _publication),
    "tune": _tune,
    "add": _change,
    "realign": _change,
    "tree": _tree,
}

JOBS_OF_RUNS: dict[str, Callable[..., JobResult]] = {
    "dry_run": _dry_run, "resume": _resume, "compare_searches": _compare_searches,
}  # fmt: skip
"""Jobs that compute as that of an engine does, on the devices that are there."""
