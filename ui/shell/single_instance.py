"""One window for each user: a second start hands its files over to the first and ends.

They meet at a socket in a folder that is this user's alone, and each proves to the other that it can read the key
file beside it, before a path is sent. Where that fails the second start opens a window of its own. Each window has a
socket of its own, whose name is in the key file: one that hung takes only its own away when it ends at last.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path

import platformdirs
from PySide6.QtCore import QDeadlineTimer, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from clalign.formats.small_files import read_small_file

from ..settings import Settings

WAIT_MS = 1000

MAX_SOCKET_BYTES = 100
"""Length of the name of a socket on every system."""

LONGEST_MESSAGE = 1 << 20

MARK_LETTERS = 8
"""Letters at the end of a socket's name that identify the window."""


def server_name(settings: Settings) -> str:
    """Return the base of socket names, one for each user and set of preferences; empty without a private folder."""
    name = "clalign-" + hashlib.sha256(str(settings.config).encode()).hexdigest()[:16]
    for folder in _folders():
        place = str(folder / name)
        if len(os.fsencode(_place(place, "0" * MARK_LETTERS))) < MAX_SOCKET_BYTES and _is_own(folder):
            return place
    return ""


def _folders() -> list[Path]:
    if sys.platform == "win32":
        return [Path(platformdirs.user_data_dir("clalign", appauthor=False))]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    shared = Path(tempfile.gettempdir(), f"clalign-{os.getuid()}")
    return [*([Path(runtime, "clalign")] if runtime else []), shared]


def _is_own(folder: Path) -> bool:
    """Create a folder that nobody else may enter; return whether it is one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    if sys.platform == "win32":
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _key_file(name: str) -> Path:
    return Path(f"{name}.key")


def _proof(key: bytes, *parts: str) -> str:
    return hmac.new(key, "\n".join(parts).encode(), hashlib.sha256).hexdigest()


def _place(name: str, mark: str) -> str:
    """Return the socket of the window with a mark."""
    return f"{Path(name).name if sys.platform == 'win32' else name}-{mark}"


def _known(name: str) -> tuple[bytes, str]:
    """Return key and socket of the last window; empty if there is none."""
    try:
        key, mark = read_small_file(_key_file(name)).decode("ascii").split("\n") if name else ("", "")
    except (OSError, ValueError):
        return b"", ""
    is_sound = len(mark) == MARK_LETTERS and mark.isalnum()
    return (key.encode(), _place(name, mark)) if key and is_sound else (b"", "")


def open_in_first(name: str, files: list[str]) -> bool:
    """Hand files over to the running window; return whether one proved its identity and took them."""
    key, place = _known(name)
    if not key:
        return False
    socket = QLocalSocket()
    socket.connectToServer(place)
    if not socket.waitForConnected(WAIT_MS):
        return False
    asked = secrets.token_hex(16)
    socket.write(f"{asked}\n".encode())
    answer = _line(socket)
    known, _, nonce = answer.partition(" ")
    if not hmac.compare_digest(known.encode(), _proof(key, "window", asked, nonce).encode()):
        socket.abort()
        return False
    text = json.dumps({"files": files})
    socket.write(f"{_proof(key, 'files', nonce, text)} {text}\n".encode())
    # The answer says that the window lives; one that hangs must not swallow the files.
    answered = _line(socket) == "ok"
    socket.disconnectFromServer()
    return answered


def _line(socket: QLocalSocket) -> str:
    """Return the next line from the other side; empty after a timeout."""
    until = QDeadlineTimer(3 * WAIT_MS)
    while not socket.canReadLine() and socket.bytesAvailable() < LONGEST_MESSAGE:
        if until.hasExpired() or not socket.waitForReadyRead(max(1, until.remainingTime())):
            break
    return bytes(socket.readLine(LONGEST_MESSAGE).data()).decode("utf-8", "replace").rstrip("\n")


class Instance(QObject):
    """Receives files from later starts."""

    files_received = Signal(list)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._nonces: dict[QLocalSocket, str] = {}
        self._key = secrets.token_hex(32).encode()
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._meet)
        mark, before = secrets.token_hex(MARK_LETTERS // 2), _known(name)[1]
        if name and self._server.listen(_place(name, mark)):
            if self._keep_key(name, mark):
                if before:  # its window ended badly, or hangs; nobody looks for it there any more
                    QLocalServer.removeServer(before)
            else:
                self._server.close()

    @property
    def place(self) -> str:
        """The socket; empty if there is none."""
        return str(self._server.fullServerName())

    def _keep_key(self, name: str, mark: str) -> bool:
        """Write key and socket for later starts of this user; return whether this succeeded."""
        path = _key_file(name)
        try:
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(self._key + b"\n" + mark.encode())
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _meet(self) -> None:
        socket = self._server.nextPendingConnection()
        self._nonces[socket] = ""
        socket.readyRead.connect(self._read_all)
        socket.disconnected.connect(self._forget)
        self._read_all()

    def _forget(self) -> None:
        for socket in list(self._nonces):
            if socket.state() == QLocalSocket.LocalSocketState.UnconnectedState:
                del self._nonces[socket]
                socket.deleteLater()

    def _read_all(self) -> None:
        for socket in list(self._nonces):
            while socket in self._nonces and socket.canReadLine():
                self._read(socket, bytes(socket.readLine(LONGEST_MESSAGE).data()).decode("utf-8", "replace").rstrip())
            if socket in self._nonces and socket.bytesAvailable() >= LONGEST_MESSAGE:
                socket.abort()

    def _read(self, socket: QLocalSocket, line: str) -> None:
        """Prove this window's identity, then receive files from a start that proves the same."""
        nonce = self._nonces[socket]
        if not nonce:
            self._nonces[socket] = nonce = secrets.token_hex(16)
            socket.write(f"{_proof(self._key, 'window', line, nonce)} {nonce}\n".encode())
            socket.flush()
            return
        known, _, text = line.partition(" ")
        if not hmac.compare_digest(known.encode(), _proof(self._key, "files", nonce, text).encode()):
            socket.abort()
            return
        with contextlib.suppress(ValueError, KeyError, TypeError):
            files = [str(name) for name in json.loads(text)["files"]]
            socket.write(b"ok\n")
            socket.flush()
            self.files_received.emit(files)
