"""One window for each user: a second start hands its files to the first and ends."""

from __future__ import annotations

import hashlib
import json

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from .settings import Settings

WAIT_MS = 1000


def server_name(settings: Settings) -> str:
    """Return the name of the meeting point: one for each user and set of preferences."""
    return "clalign-" + hashlib.sha256(str(settings.config).encode()).hexdigest()[:16]


def hand_over(name: str, files: list[str]) -> bool:
    """Give files to the running window; returns whether there is one."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(WAIT_MS):
        return False
    socket.write(json.dumps({"files": files}).encode() + b"\n")
    socket.waitForBytesWritten(WAIT_MS)
    # The answer says that the window lives; one that hangs must not swallow the files.
    answered = socket.bytesAvailable() > 0 or socket.waitForReadyRead(3 * WAIT_MS)
    socket.disconnectFromServer()
    return answered


class Instance(QObject):
    """Listens for files that later starts hand over."""

    files_received = Signal(list)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sockets: list[QLocalSocket] = []
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._meet)
        if not self._server.listen(name):
            # Left behind by a window that ended badly; nobody answers there.
            QLocalServer.removeServer(name)
            self._server.listen(name)

    def close(self) -> None:
        """Listen no longer."""
        self._server.close()

    def _meet(self) -> None:
        socket = self._server.nextPendingConnection()
        self._sockets.append(socket)
        socket.readyRead.connect(self._read_all)
        socket.disconnected.connect(self._forget)
        self._read_all()

    def _forget(self) -> None:
        gone = [s for s in self._sockets if s.state() == QLocalSocket.LocalSocketState.UnconnectedState]
        self._sockets = [s for s in self._sockets if s not in gone]
        for socket in gone:
            socket.deleteLater()

    def _read_all(self) -> None:
        for socket in list(self._sockets):
            if socket.canReadLine():
                self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        try:
            files = json.loads(bytes(socket.readLine().data()))["files"]
        except (ValueError, KeyError, TypeError):
            return
        socket.write(b"ok\n")
        socket.flush()
        self.files_received.emit([str(name) for name in files])
