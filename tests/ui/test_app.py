import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from clalign.ui.settings import Settings
from clalign.ui.shell.single_instance import Instance, open_in_first, server_name

pytestmark = pytest.mark.thorough

START = """
import sys
from clalign.ui.shell import app
from clalign.ui.settings import Settings
from pathlib import Path
from PySide6.QtCore import QTimer
folder = Path(sys.argv[1])
application = app.make_application(["clalign"])
window = app.open_window(Settings(folder, folder), [sys.executable, sys.argv[2]], [])
loaded = {name for name in ("pyqtgraph", "pyopencl", "Bio") if name in sys.modules}
def seen():
    print("shown", *loaded)
    window.close()
    application.quit()
window.shown.connect(lambda: QTimer.singleShot(0, seen))
application.exec()
"""


def test_the_window_comes_without_heavy_modules(tmp_path: Path, worker: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path), worker[1]],
        capture_output=True, text=True, timeout=300, check=True, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )  # fmt: skip
    # How long that takes is measured in the benchmarks.
    assert done.stdout.split() == ["shown"]


HAND_OVER = """
import sys
from clalign.ui.shell.single_instance import open_in_first
sys.exit(0 if open_in_first(sys.argv[1], sys.argv[2:]) else 5)
"""


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_nothing_waits_for_a_pipe_in_the_place_of_the_key(qtbot: Any, settings: Settings) -> None:
    name = server_name(settings)
    os.mkfifo(f"{name}.key")
    assert not open_in_first(name, ["a"])
    instance = Instance(name)
    assert instance.place
    instance.close()


def test_a_second_start_hands_its_files_over(qtbot: Any, settings: Settings) -> None:
    name = server_name(settings)
    assert not open_in_first(name, ["a"])
    instance = Instance(name)
    with qtbot.waitSignal(instance.files_received) as received:
        other = subprocess.Popen([sys.executable, "-c", HAND_OVER, name, "/a b.hmm", "/c.fasta"])
    assert received.args[0] == ["/a b.hmm", "/c.fasta"]
    qtbot.waitUntil(lambda: other.poll() is not None)
    assert other.returncode == 0
    instance.close()


def test_noise_at_the_meeting_point_is_ignored(qtbot: Any, settings: Settings) -> None:
    from PySide6.QtNetwork import QLocalSocket

    instance = Instance(server_name(settings))
    got: list[Any] = []
    instance.files_received.connect(got.append)
    socket = QLocalSocket()
    socket.connectToServer(instance.place)
    assert socket.waitForConnected(2000)
    socket.write(b"not json\n")
    socket.flush()
    qtbot.wait(200)
    assert got == []
    socket.abort()
    instance.close()


EAVESDROPPER = """
import sys
from PySide6.QtCore import QCoreApplication
from PySide6.QtNetwork import QLocalServer
application = QCoreApplication([])
server = QLocalServer()
QLocalServer.removeServer(sys.argv[1])
assert server.listen(sys.argv[1])
print("listens", flush=True)
def meet():
    socket = server.nextPendingConnection()
    def read():
        print(bytes(socket.readAll().data()), flush=True)
        socket.write(b"ok\\n" + b"0" * 64 + b" abc\\n")
        socket.flush()
    socket.readyRead.connect(read)
server.newConnection.connect(meet)
application.exec()
"""


def test_who_only_listens_gets_no_paths_and_swallows_no_start(qtbot: Any, settings: Settings) -> None:
    name = server_name(settings)
    instance = Instance(name)
    place = instance.place
    instance.close()  # its key is still there
    other = subprocess.Popen([sys.executable, "-c", EAVESDROPPER, place], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "listens\n"
        assert not open_in_first(name, ["/secret/path.fasta"])
    finally:
        other.kill()
        heard = other.communicate()[0]
    assert heard
    assert "secret" not in heard


def test_only_who_knows_the_key_opens_files(qtbot: Any, settings: Settings) -> None:
    name = server_name(settings)
    instance = Instance(name)
    got: list[Any] = []
    instance.files_received.connect(got.append)
    key = Path(f"{name}.key")
    real = key.read_bytes()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    for shown, code in ((b"guessed", 5), (b"guessed" + real[real.index(b"\n") :], 5), (real, 0)):
        key.write_bytes(shown)
        child = subprocess.Popen([sys.executable, "-c", HAND_OVER, name, "/a.hmm"])
        qtbot.waitUntil(lambda child=child: child.poll() is not None)
        assert child.returncode == code
        assert got == ([] if code else [["/a.hmm"]])
    instance.close()


def test_a_window_that_hung_takes_only_its_own_socket_away(qtbot: Any, settings: Settings) -> None:
    name = server_name(settings)
    hung, later = Instance(name), Instance(name)
    hung.close()
    with qtbot.waitSignal(later.files_received) as received:
        other = subprocess.Popen([sys.executable, "-c", HAND_OVER, name, "/a.hmm"])
    assert received.args[0] == ["/a.hmm"]
    qtbot.waitUntil(lambda: other.poll() is not None)
    assert other.returncode == 0
    later.close()
    assert [path.suffix for path in Path(name).parent.glob(f"{Path(name).name}*")] == [".key"], "nothing is left"


def test_a_folder_of_somebody_else_is_no_meeting_point(tmp_path: Path, monkeypatch: Any, settings: Settings) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    folder = tmp_path / "clalign"
    folder.mkdir(mode=0o755)
    monkeypatch.setattr("clalign.ui.shell.single_instance.MAX_SOCKET_BYTES", 4096)
    assert server_name(settings).startswith(str(tmp_path / "none"))
    folder.chmod(0o700)
    assert server_name(settings).startswith(str(folder))
    folder.rename(tmp_path / "real")
    folder.symlink_to(tmp_path / "real")
    assert server_name(settings).startswith(str(tmp_path / "none"))
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    assert server_name(settings) == ""
    assert not open_in_first("", ["/a.hmm"])


def test_the_whole_program_opens_hands_over_and_ends(tmp_path: Path, qtbot: Any) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "CLALIGN_CONFIG": str(tmp_path),
                   "XDG_DATA_HOME": str(tmp_path)}  # fmt: skip
    program = "import sys; from clalign.ui.shell.app import main; sys.exit(main())"
    first = subprocess.Popen([sys.executable, "-c", program], env=environment)
    try:
        end = time.monotonic() + 200
        code = None
        name = server_name(Settings(tmp_path, tmp_path))
        while time.monotonic() < end and not open_in_first(name, []):
            time.sleep(0.2)
        code = subprocess.run(
            [sys.executable, "-c", program, "/no/such.fasta"], env=environment, timeout=200
        ).returncode
        assert code == 0
        assert first.poll() is None
    finally:
        first.kill()
        first.wait()


HANGING = """
import sys
from clalign.ui import worker_process
from clalign.ui.shell import app
worker_process.END_SECONDS = 1
app.default_worker = lambda: [sys.executable, "-c", "import time; time.sleep(1000)"]
sys.exit(app.main([], new_window=True))
"""


EARLY = """
import os, signal
from clalign.ui.views import tour_bar
make = tour_bar.TourBar.__init__
def interrupted(bar):
    os.kill(os.getpid(), signal.{name})
    make(bar)
tour_bar.TourBar.__init__ = interrupted
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_window_is_made_ends_the_program(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "CLALIGN_CONFIG": str(tmp_path),
                   "XDG_DATA_HOME": str(tmp_path)}  # fmt: skip
    program = [sys.executable, "-c", EARLY.format(name=name) + HANGING]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 128 + signal.Signals[name]
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_closes_the_window_and_ends_its_workers(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "CLALIGN_CONFIG": str(tmp_path),
                   "XDG_DATA_HOME": str(tmp_path)}  # fmt: skip
    number = signal.Signals[name]
    process = subprocess.Popen([sys.executable, "-c", HANGING], env=environment)
    workers: list[psutil.Process] = []
    while process.poll() is None and not workers:
        workers = psutil.Process(process.pid).children()
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(120) == 128 + number
    assert workers
    assert psutil.wait_procs(workers, timeout=120)[1] == []
