"""Why another process, of this machine or of another one, could not compute a unit."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from clalign.errors import Cancelled, ClalignError, DeviceError, ExitCode, OutOfDeviceMemory


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure, as it is sent to another process.

    Attributes
    ----------
    kind : str
        ``memory``: the unit is too large; ``device``; ``error``: of the input or the options; ``fault``: of the
        program; ``shards``: it lacks some; ``forgotten``: it does not know the job any more; ``again``: another unit
        failed.
    message, hint : str
    exit_code : int
    shards : (int, list of int)
        Number of a database and of shards.
    """

    kind: str
    message: str = ""
    hint: str = ""
    exit_code: int = ExitCode.ENGINE
    shards: tuple[int, list[int]] = (0, [])

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure for an error that was just caught."""
        if isinstance(error, Cancelled):
            return cls("again")
        if not isinstance(error, ClalignError):
            return cls("fault", "".join(traceback.format_exception(error)))
        kinds = {OutOfDeviceMemory: "memory", DeviceError: "device"}
        kind = next((word for one, word in kinds.items() if isinstance(error, one)), "error")
        return cls(kind, error.message, error.hint, error.exit_code)

    def error(self, place: str) -> Exception:
        """Return the error to raise in this process; for a fault of the program it names the place."""
        if self.kind == "fault":
            return RuntimeError(f"{place}:\n{self.message}")
        kinds: dict[str, type[ClalignError]] = {"memory": OutOfDeviceMemory, "device": DeviceError}
        error = kinds.get(self.kind, ClalignError)(self.message, self.hint)
        error.exit_code = ExitCode(self.exit_code)
        return error
