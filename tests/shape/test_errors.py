"""Errors a user can meet say what to do: each class takes or writes a hint, each place that raises one gives it."""

import ast
import inspect
import re
from pathlib import Path

import clalign.errors
from clalign.errors import ClalignError, DamagedRun, ExitCode, KernelBuildError, NoSuchFile, RunExists

ROOT = Path(__file__).resolve().parents[2]

CLASSES = {
    name: value
    for name, value in vars(clalign.errors).items()
    if inspect.isclass(value) and issubclass(value, ClalignError)
}
HINT_PLACE = {
    name: list(parameters).index("hint")
    for name, parameters in ((name, inspect.signature(value).parameters) for name, value in CLASSES.items())
    if "hint" in parameters and parameters["hint"].default in ("", inspect.Parameter.empty)
}
NAMED = re.compile(rf"\b(?:{'|'.join(HINT_PLACE)})\(")
"""Such an error being made."""


def has_hint(call: ast.Call, place: int) -> bool:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    given = [keyword.value for keyword in call.keywords if keyword.arg == "hint"] or call.args[place : place + 1]
    return bool(given) and not (isinstance(given[0], ast.Constant) and not given[0].value)


def without_hint(root: Path) -> list[str]:
    """Return the places that make an error without saying what to do about it."""
    found = []
    for folder in ("clalign", "ui"):
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            if not NAMED.search(text):  # most of the work saved
                continue
            for node in ast.walk(ast.parse(text)):
                name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
                if name in HINT_PLACE and not has_hint(node, HINT_PLACE[name]):
                    found.append(f"{path.relative_to(root).as_posix()}:{node.lineno} {name}")
    return found


def test_every_raised_error_has_a_hint():
    assert without_hint(ROOT) == []


def test_classes_that_need_no_hint_write_one():
    assert set(CLASSES) - set(HINT_PLACE) == {"DamagedRun", "KernelBuildError", "NoSuchFile", "RunExists"}
    assert KernelBuildError("card", "a.cl", {}, "line 1: error").hint
    assert DamagedRun("a.clalign", "a reason").hint
    assert NoSuchFile("a.clalign").hint
    assert RunExists("a.clalign").hint


def test_every_class_ends_the_program_with_a_code_of_its_own_kind():
    codes = {name: value.exit_code for name, value in CLASSES.items()}
    assert all(isinstance(code, ExitCode) and code is not ExitCode.DONE for code in codes.values())


def test_planted_errors_without_hint_are_found(tmp_path: Path):
    (tmp_path / "clalign").mkdir()
    lines = [
        "raise InputError(path, 'is empty')",
        "raise InputError(path, 'is empty', line=3)",
        "raise InputError(path, 'is empty', '')",
        "raise InputError(path, 'is empty', 'Give another file.')",
        "raise OptionError('no', hint=f'{x}')",
        "raise DeviceNotFound('no')",
    ]
    (tmp_path / "clalign" / "a.py").write_text("\n".join(lines))
    assert without_hint(tmp_path) == [
        "clalign/a.py:1 InputError",
        "clalign/a.py:2 InputError",
        "clalign/a.py:3 InputError",
        "clalign/a.py:6 DeviceNotFound",
    ]


BARE = re.compile(r"clalign (?:resume|export|gui|verify|explain|merge|hmmsearch|sw) (?:--?\w+ )*\{(?!command_for\()")
"""A command whose file is put in as it is: with a blank in its name the shell takes it for two."""


def test_commands_in_messages_have_files_as_a_shell_takes_them():
    assert BARE.search('f"Continue with: clalign resume --tsv {path}"')
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("clalign", "ui")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if BARE.search(path.read_text("utf-8"))
    }
    assert found <= {"clalign/cli/shard.py", "clalign/engines/pairwise/report_text.py"}
