"""The man pages of the packages: one for each command, which names every option; troff has nothing to say of them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

import pytest

from clalign.cli.program import all_commands, parser_of

SCRIPT = Path(__file__).parents[2] / "packaging" / "man_pages.py"


@pytest.fixture(scope="module")
def man_pages() -> Any:
    spec = importlib.util.spec_from_file_location("man_pages", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(man_pages: Any) -> dict[str, str]:
    made: dict[str, str] = man_pages.pages()
    return made


def complaints(page: Path) -> str:
    """Return what the troff of man-db, or of groff, says of a page."""
    tool = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"]
    return subprocess.run([*tool, str(page)], capture_output=True, text=True, check=False).stderr


def test_there_is_one_for_each_command(pages: dict[str, str]) -> None:
    assert set(pages) == {"clalign.1", *(f"clalign-{name}.1" for name in all_commands())}
    assert all(rf"clalign\-{name}\fR(1)" in pages["clalign.1"] for name in all_commands())


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_it_names_every_option_and_file(name: str, pages: dict[str, str], man_pages: Any) -> None:
    parser, page = parser_of(name), pages[f"clalign-{name}.1"]
    assert parser is not None
    for action in parser._actions:
        if action.help == SUPPRESS:
            continue
        for flag in action.option_strings:
            assert man_pages.bold(flag) in page
        if not action.option_strings:
            assert man_pages.escaped(str(action.metavar or action.dest)) in page
    assert all(man_pages.escaped(example) in page for example in parser.examples)


def test_troff_takes_them_without_a_word(pages: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert complaints(tmp_path / name) == ""
    (tmp_path / "wrong").write_text(".TH A 1\n.SH NAME\na \\- b\n.nosuchrequest\n", encoding="utf-8")
    assert complaints(tmp_path / "wrong") != ""


def test_nothing_of_a_text_is_a_request(man_pages: Any) -> None:
    assert man_pages.escaped(".probs and -o 'x'\\") == "\\&.probs and \\-o \\(aqx\\(aq\\e"


def test_the_script_writes_them(tmp_path: Path, pages: dict[str, str]) -> None:
    subprocess.run([sys.executable, SCRIPT, tmp_path / "man1"], check=True)
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "man1").iterdir()} == pages
