"""Characters that tell a terminal what to do come out as escapes, wherever a name may go."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from clalign.cli import streams
from clalign.common.escapes import escaped
from clalign.errors import InputError
from clalign.formats.writers import whole_file

ROOT = Path(__file__).resolve().parents[1]

HOSTILE = "a\x1b]0;owned\x07b\x9b31mc\u202ed\u2066e\x7ff\rg\u2028h"
SHOWN = r"a\x1b]0;owned\x07b\x9b31mc\u202ed\u2066e\x7ff\x0dg\u2028h"


def test_controls_are_escaped_and_letters_stay() -> None:
    assert escaped(HOSTILE) == SHOWN
    for kept in ("plain\tcells\nlines", "Ähre çédille 蛋白质 עברית", "na\u200dme", "\udcff", ""):
        assert escaped(kept) == kept
    every = "".join(map(chr, range(0x3000)))
    assert all(char.isprintable() or char in "\t\n" or ord(char) >= 0xA0 for char in escaped(every))
    assert all(escaped(chr(code)) != chr(code) for code in (*range(9), 11, 12, 13, 27, *range(0x7F, 0xA0)))


def test_errors_and_what_is_reported_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    error = InputError(f"{HOSTILE}.fa", f"no {HOSTILE}", f"Look at {HOSTILE}")
    assert (error.message, error.hint) == (f"{SHOWN}.fa: no {SHOWN}", f"Look at {SHOWN}")
    assert error.path == f"{HOSTILE}.fa"
    streams.write_stderr(f"clalign: {HOSTILE}")
    streams.show(HOSTILE)
    assert capsys.readouterr() == (f"{SHOWN}\n", f"clalign: {SHOWN}\n")


def test_files_for_programs_keep_names_as_they_were(tmp_path: Path) -> None:
    for is_exact, text in ((False, SHOWN), (True, HOSTILE)):
        path = tmp_path / f"{is_exact}"
        with whole_file(str(path), is_exact) as stream:
            stream.write(f">{HOSTILE}\n")
        assert path.read_bytes() == f">{text}\n".encode()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_never_gets_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_exact in (False, True):
        monkeypatch.setattr("sys.stdout", Terminal())
        with whole_file("-", is_exact) as stream:
            stream.write(HOSTILE)
            shown = stream
        assert streams.sys.stdout.getvalue() == SHOWN  # type: ignore[attr-defined]
        assert shown is not streams.sys.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "clalign/cli").glob("*.py")), ids=lambda path: path.stem)
def test_commands_print_through_one_function(path: Path) -> None:
    if path.stem in ("streams", "parser"):  # the function itself, and texts of help
        return
    called = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    assert "print" not in [function.id for function in called if isinstance(function, ast.Name)]
