"""Set clalign up in this folder, and start it. Needs nothing but Python and its standard library.

    python3 run.py              install, search the bundled example, open the window on its result
    python3 run.py test [...]   install with the test tools, and run the tests (arguments go to pytest)
    python3 run.py gui [...]    install, and open the window
    python3 run.py -- [...]     install, and run the command line: python3 run.py -- devices

Everything goes into the folder ``.venv`` beside this file; deleting that folder undoes it. A second
start finds it and installs nothing.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "clalign-setup.json"
RUNS = ROOT / "runs"
NEEDED = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")
EXAMPLE = "rrm_1"
IN_PARALLEL = ("-n", str(min(8, 3 * (os.cpu_count() or 1) // 2)), "--dist", "worksteal")
"""How pytest-xdist spreads the tests; an argument after it, as ``-n 0``, takes its place. A third of their time tests
wait, for child processes or the window, so there are more processes than processors."""

QT_LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
"""What the window's toolkit loads from the system, and the Debian package of each."""


class Stop(Exception):
    """Set-up cannot go on; the text says why and what to do."""


def newer_interpreter() -> str:
    """Return the path of a Python that is new enough, installing one where that may be done."""
    for name in NEWER:
        path = shutil.which(name)
        if path and subprocess.call([path, "-c", "import sys"], stderr=subprocess.DEVNULL) == 0:
            return path
    for name in reversed(NEWER):
        if may_use_apt() and is_known_to_apt(name) and apt_install([name, name + "-venv"]):
            return shutil.which(name)
    raise Stop(
        f"clalign needs Python 3.11 or newer; this is Python {platform.python_version()}. Install a newer one (for "
        "example from https://www.python.org/downloads/) and start run.py with it: python3.12 run.py"
    )


def is_loadable(library: str) -> bool:
    """Return whether the system has a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def has_linker() -> bool:
    """Return whether PoCL, the CPU driver, can link a kernel: it calls ld with libgcc and libc."""
    start_files = glob.glob("/usr/lib/*/crti.o") + glob.glob("/usr/lib*/crti.o")
    support = glob.glob("/usr/lib/gcc/*/*/libgcc.a") + glob.glob("/usr/lib64/gcc/*/*/libgcc.a")
    return bool(shutil.which("ld") and start_files and support)


def missing_packages() -> list[str]:
    """Return the Debian packages that set-up or the program would miss."""
    if not sys.platform.startswith("linux"):
        return []
    packages = []
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        packages.append(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")
    if platform.machine() == "x86_64" and not has_linker():
        packages += ["gcc", "libc6-dev"]
    return packages + [package for library, package in QT_LIBRARIES.items() if not is_loadable(library)]


def apt_prefix() -> list[str] | None:
    """Return how to start apt-get here: [] as root, ["sudo", "-n"] with sudo, None if neither may be."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.call(["sudo", "-n", "true"], stderr=subprocess.DEVNULL) == 0:
        return ["sudo", "-n"]
    return None


def may_use_apt() -> bool:
    """Return whether packages may be installed without asking anybody."""
    return apt_prefix() is not None


def is_known_to_apt(package: str) -> bool:
    """Return whether the package lists of this machine hold a package."""
    answer = subprocess.run(["apt-cache", "show", package], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return answer.returncode == 0


def apt_install(packages: list[str]) -> bool:
    """Install Debian packages; return whether that succeeded."""
    apt = [*apt_prefix(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    install = [*apt, "install", "-y", "--no-install-recommends", *packages]
    say("Installing system packages: " + " ".join(packages))
    if subprocess.call(install) == 0:
        return True
    say("Reading the package lists again.")
    return subprocess.call([*apt, "update"]) == 0 and subprocess.call(install) == 0


def settle_system() -> None:
    """Install the system packages that are missing, or say which line does."""
    packages = missing_packages()
    if not packages:
        return
    if may_use_apt() and apt_install(packages):
        return
    line = "sudo apt-get install -y " + " ".join(packages)
    if shutil.which("apt-get"):
        text = "Some system packages are missing. Install them with this line, then start run.py again:\n\n    " + line
    else:
        text = "Some system libraries are missing. On Debian and Ubuntu their packages are: " + " ".join(packages)
    if any(package.endswith("-venv") for package in packages):
        raise Stop(text)
    say(text + "\n\nGoing on without them: the CPU driver or the window may not start.\n")


def venv_python() -> Path:
    """Return the interpreter of the virtual environment."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint() -> str:
    """Return what an installation depends on; if it changes, the installation is brought up to date."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "setup.py"):
        digest.update((ROOT / name).read_bytes())
    digest.update(os.fsencode(str(ROOT)))
    return digest.hexdigest()


def read_stamp() -> dict:
    """Return what is known about the environment: its state, fingerprint and extras."""
    try:
        return json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_stamp(**facts: object) -> None:
    """Note the state of the environment; a start that is cut off never leaves half a note."""
    part = STAMP.with_suffix(".part")
    part.write_text(json.dumps(facts), encoding="utf-8")
    os.replace(str(part), str(STAMP))


def is_working() -> bool:
    """Return whether the environment has an interpreter that runs, is this one's kin, and has pip."""
    check = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        command = [str(venv_python()), "-c", check]
        return subprocess.call(command, stderr=subprocess.DEVNULL, env=clean_environment()) == 0
    except OSError:
        return False


def settle_venv(extra: str) -> None:
    """Make the environment hold clalign, its dependencies and an extra; do nothing if it does."""
    stamp = read_stamp()
    wanted = fingerprint()
    installed = set(stamp.get("extras", [])) if stamp.get("fingerprint") == wanted else set()
    ready = stamp.get("state") == "ready" and stamp.get("fingerprint") == wanted and is_working()
    if ready and (not extra or extra in installed):
        return
    # A pip that was cut off may leave packages that look whole and are not: start afresh then.
    if stamp.get("state") == "installing" or not is_working():
        say(f"Making the environment {VENV}")
        make_venv()
        installed = set()
    extras = sorted(installed | ({extra} if extra else set()))
    write_stamp(state="installing")
    say("Installing clalign and what it needs (once; some minutes on a slow network)")
    if install(extras) != 0:
        write_stamp(state="incomplete")
        raise Stop("The packages could not be installed; the lines above say why. Start run.py again to go on.")
    write_stamp(state="ready", fingerprint=wanted, extras=extras)


def make_venv() -> None:
    """Create the environment anew."""
    if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)], env=clean_environment()) != 0:
        raise Stop(f"Python could not make the environment {VENV}; the lines above say why.")


def install(extras: list[str]) -> int:
    """Install the checkout in place, with extras; return pip's exit code."""
    target = f".[{','.join(extras)}]" if extras else "."
    command = [str(venv_python()), "-m", "pip", "install", "--disable-pip-version-check", "-e", target]
    return subprocess.call(command, cwd=str(ROOT), env=clean_environment())


def clean_environment() -> dict[str, str]:
    """Return the environment variables without those that lead Python or pip away from .venv, as files in the current
    folder would.
    """
    astray = ("PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "__PYVENV_LAUNCHER__")
    return {**{name: value for name, value in os.environ.items() if name not in astray}, "PYTHONSAFEPATH": "1"}


def clalign(*arguments: object, capture: bool = False) -> subprocess.CompletedProcess:
    """Run the command line of the installed program."""
    command = [str(venv_python()), "-m", "clalign", *map(str, arguments)]
    output = subprocess.PIPE if capture else None
    return subprocess.run(command, stdout=output, env=clean_environment())


def pick_cpu() -> str:
    """Return the id of the CPU device that passed its self-test, else of the reference."""
    answer = clalign("devices", "--json", capture=True)
    try:
        devices = json.loads(answer.stdout.decode("utf-8"))["devices"]
    except (ValueError, KeyError):
        raise Stop("The devices of this machine could not be listed; the lines above say why.") from None
    ready = [device["id"] for device in devices if device["kind"] == "cpu" and device["health"] == "ready"]
    return ready[0] if ready else "reference"


BEGINNINGS = {
    "": b"SQLite format 3\0",
    "-wal": b"\x37\x7f\x06",
    "-shm": (3007000).to_bytes(4, sys.byteorder),
    "-journal": b"\xd9\xd5\x05\xf9",
}
"""What a run, and each file that SQLite keeps beside it, begins with."""


def is_of_run(path: Path, ending: str) -> bool:
    """Return whether a file is a run of clalign, or one that SQLite keeps beside it, and not another of that name."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(72)
    if not ending:
        return head.startswith(BEGINNINGS[ending]) and head[68:] == b"clal"
    return not any(head[:8]) or head.startswith(BEGINNINGS[ending])


def free_run_file() -> Path:
    """Return where the example's result goes: the file of the last start, unless a window holds it or it is no run."""
    RUNS.mkdir(exist_ok=True)
    for number in range(1, 100):
        path = RUNS / ("example.clalign" if number == 1 else f"example-{number}.clalign")
        files = {ending: Path(f"{path}{ending}") for ending in BEGINNINGS}
        there = {ending: file for ending, file in files.items() if os.path.lexists(file)}
        try:
            if all(is_of_run(file, ending) for ending, file in there.items()):
                for file in there.values():
                    file.unlink()
                return path
        except OSError:
            continue
    raise Stop(f"The folder {RUNS} is full of results that another program holds open.")


def search_example() -> Path:
    """Search the bundled example on the CPU, print its hits, and return the run file."""
    folder = ROOT / "resources" / "examples"
    examples = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    example = next(example for example in examples if example["id"] == EXAMPLE)
    device = pick_cpu()
    path = free_run_file()
    say(f"Searching the bundled example on device {device}: {example['title']}")
    inputs = folder / example["profiles"], folder / example["targets"]
    code = clalign("hmmsearch", "--noali", "--device", device, "--run", path, *inputs).returncode
    if code != 0:
        raise Stop(f"The example search ended with code {code}; the lines above say why.")
    return path


def has_display() -> bool:
    """Return whether a window can be seen here."""
    if not sys.platform.startswith("linux"):
        return True
    shown = os.environ.get("QT_QPA_PLATFORM", "") not in ("offscreen", "minimal", "minimalegl", "vnc")
    return shown and bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def start_all() -> int:
    """Search the example, then open the window on its result."""
    path = search_example()
    if not has_display():
        say(f"No display was found here, so the window stays closed. The result is in {path}")
        say(f"On a desktop, open it with: python3 run.py gui {path.relative_to(ROOT)}")
        return 0
    say(f"Opening the window on {path}")
    return clalign("gui", path).returncode


def run_tests(arguments: list[str]) -> int:
    """Run the tests, in several processes unless ``-n 0`` is among the arguments."""
    environment = clean_environment()
    if not has_display():
        environment["QT_QPA_PLATFORM"] = "offscreen"
    command = [str(venv_python()), "-m", "pytest", *IN_PARALLEL, *arguments]
    return subprocess.call(command, cwd=str(ROOT), env=environment)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def main(arguments: list[str]) -> int:
    """Set up and start what the arguments name; return the exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        say(__doc__)
        return 0
    if arguments and arguments[0] not in ("test", "gui", "--"):
        raise Stop("run.py knows 'test', 'gui' and '--'; see: python3 run.py --help")
    if sys.version_info < NEEDED:
        return subprocess.call([newer_interpreter(), str(ROOT / "run.py"), *arguments])
    settle_system()
    settle_venv("dev" if arguments[:1] == ["test"] else "")
    if not arguments:
        return start_all()
    if arguments[0] == "test":
        return run_tests(arguments[1:])
    return clalign(*(arguments if arguments[0] == "gui" else arguments[1:])).returncode


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as problem:
        sys.exit("\n" + str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
