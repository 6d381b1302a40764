"""The desktop entry: right for its readers, and removed without a trace."""

import configparser
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clalign.cli import desktop, main
from clalign.cli.desktop import EXTENSIONS, desktop_entry, install, quote, registry_values, remove, window_command
from clalign.runs.tables import APPLICATION_ID

COMMAND = ["/opt/my tools/50% $new/clalign-gui"]
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


def entry_of(home: Path) -> configparser.SectionProxy:
    reader = configparser.RawConfigParser(delimiters="=", comment_prefixes="#", strict=True)
    reader.optionxform = str
    reader.read(home / "applications" / "clalign.desktop", encoding="utf-8")
    return reader["Desktop Entry"]


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def validator() -> str:
    return shutil.which("desktop-file-validate") or pytest.skip("desktop-file-validate is not installed")


@pytest.fixture(scope="session")
def mime_tool() -> str:
    return shutil.which("update-mime-database") or pytest.skip("update-mime-database is not installed")


def test_command_line_installs_and_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["desktop", "install"]) == 0
    assert entry_of(tmp_path)["TryExec"] == window_command()[0]
    assert "icons/hicolor/scalable/apps/clalign.svg" in files_below(tmp_path)
    assert "icons/hicolor/48x48/apps/clalign.png" in files_below(tmp_path)
    assert str(tmp_path / "applications" / "clalign.desktop") in capsys.readouterr().out
    assert main(["desktop", "remove"]) == 0
    assert not [name for name in files_below(tmp_path) if "clalign" in name]


def test_remove_leaves_the_files_of_others(tmp_path: Path):
    others = tmp_path / "applications" / "other.desktop"
    others.parent.mkdir()
    others.write_text("[Desktop Entry]\n")
    install(tmp_path, COMMAND)
    assert remove(tmp_path, COMMAND)[0]
    assert others.read_text() == "[Desktop Entry]\n"
    assert not (tmp_path / "icons").exists()
    assert remove(tmp_path, COMMAND) == ([], [])


PLACES = ("applications/clalign.desktop", "mime/packages/clalign.xml", "icons/hicolor/48x48/apps/clalign.png")


@pytest.mark.parametrize("place", PLACES)
def test_a_file_of_the_user_in_a_place_of_ours_stays(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own = tmp_path / place
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    for action in ("install", "remove"):
        assert main(["desktop", action]) == 0
        messages = capsys.readouterr()
        assert str(own) in messages.err
        assert str(own) not in messages.out
        assert own.read_text() == "mine"
    assert files_below(tmp_path / "icons") == [place.removeprefix("icons/")] * place.startswith("icons/")


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_replaced_and_what_it_leads_to_stays(place: str, is_there: bool, tmp_path: Path) -> None:
    home, precious = tmp_path / "home", tmp_path / "precious"
    if is_there:
        precious.write_text("mine")
    link = home / place
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    written, left = install(home, COMMAND)
    assert link in written
    assert not left
    assert not link.is_symlink()
    assert precious.exists() is is_there
    link.unlink()
    link.symlink_to(precious)
    assert remove(home, COMMAND)[1] == [link]
    assert link.is_symlink()
    if is_there:
        assert precious.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("place", PLACES)
def test_nothing_waits_for_a_pipe(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop, "REFRESH_SECONDS", 0.5)
    pipe = tmp_path / place
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert install(tmp_path, COMMAND)[1] == [pipe]
    assert remove(tmp_path, COMMAND)[1] == [pipe]
    assert pipe.is_fifo()


def test_an_entry_of_another_installation_is_replaced_and_removed(tmp_path: Path) -> None:
    entry = tmp_path / "applications" / "clalign.desktop"
    install(tmp_path, COMMAND)
    install(tmp_path, ["/elsewhere/clalign-gui"])
    assert entry_of(tmp_path)["TryExec"] == "/elsewhere/clalign-gui"
    assert remove(tmp_path, COMMAND)[1] == []
    assert not entry.exists()


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("/opt/a b/x", '"/opt/a b/x"'),
        ("50%", '"50%%"'),
        ('say "hi"', '"say \\\\"hi\\\\""'),
        ("$HOME`x`", '"\\\\$HOME\\\\`x\\\\`"'),
        ("a\\b", '"a\\\\\\\\b"'),
    ],
)
def test_words_are_quoted_as_the_specification_says(word: str, quoted: str):
    assert quote(word) == quoted


def test_entry_passes_the_validator(tmp_path: Path, validator: str):
    install(tmp_path, COMMAND)
    path = tmp_path / "applications" / "clalign.desktop"
    checked = subprocess.run([validator, str(path)], capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, "")
    path.write_text(path.read_text("utf-8").replace("Type=Application", "Type=Nonsense"), "utf-8")
    assert subprocess.run([validator, str(path)], capture_output=True).returncode != 0


def test_every_declared_type_is_opened_and_every_opened_type_declared(tmp_path: Path):
    install(tmp_path, COMMAND)
    tree = ElementTree.parse(tmp_path / "mime" / "packages" / "clalign.xml")
    declared = {node.get("type") for node in tree.iter(f"{MIME}mime-type")}
    assert set(entry_of(tmp_path)["MimeType"].strip(";").split(";")) == declared
    patterns = {node.get("pattern") for node in tree.iter(f"{MIME}glob")}
    assert {f"*{ending}" for ending in (*EXTENSIONS, ".clalign")} <= patterns


def test_magic_of_a_run_is_where_sqlite_keeps_the_application(tmp_path: Path):
    path = tmp_path / "a.clalign"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    install(tmp_path, COMMAND)
    tree = ElementTree.parse(tmp_path / "mime" / "packages" / "clalign.xml")
    run = next(node for node in tree.iter(f"{MIME}mime-type") if node.get("type") == "application/x-clalign-run")
    head = path.read_bytes()
    matches = [(int(node.get("offset")), node.get("value").encode()) for node in run.iter(f"{MIME}match")]
    assert len(matches) == 2
    assert all(head[offset:].startswith(value) for offset, value in matches)


def test_mime_database_takes_the_types(tmp_path: Path, mime_tool: str):
    install(tmp_path, COMMAND)
    globs = (tmp_path / "mime" / "globs").read_text()
    assert "text/x-fasta:*.fasta\n" in globs
    assert "application/x-clalign-run:*.clalign\n" in globs
    remove(tmp_path, COMMAND)
    assert "clalign" not in (tmp_path / "mime" / "globs").read_text()


def test_unwritable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert main(["desktop", "install"]) == 6
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_macos_is_reported_where_file_types_come_from(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["desktop", "install"]) == 1
    assert "bundle" in capsys.readouterr().err


def test_windows_registry_opens_runs_and_offers_the_rest():
    values = registry_values(["C:\\Program Files\\clalign\\clalign-gui.exe"])
    assert ("Software\\Classes\\.clalign", "", "clalign.run") in values
    command = next(text for key, _, text in values if key.endswith("open\\command"))
    assert command == '"C:\\Program Files\\clalign\\clalign-gui.exe" "%1"'
    offered = [key for key, name, _ in values if name == "clalign.run"]
    assert len(offered) == len(EXTENSIONS)


def test_entry_names_no_version():
    # Debian 12's validator refuses Version=1.5, and nothing reads an older one.
    assert "Version" not in desktop_entry(COMMAND)
