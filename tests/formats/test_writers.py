"""Files that are whole or not there, whatever lies beside them and whatever their text holds."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from clalign.engines.plan7.exports import hmmer3_text
from clalign.engines.plan7.exports.hmmer3_stockholm import PackedRows, hmmer3_stockholm_lines
from clalign.errors import OutputError
from clalign.formats import writers
from clalign.formats.profile_stockholm import AlignedRow, profile_stockholm_lines
from clalign.formats.row_alignments import read_rows
from clalign.formats.writers import check_writable, whole_file
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit


def test_what_a_crash_left_behind_does_not_matter(tmp_path: Path) -> None:
    left, path = tmp_path / f".a.tsv.{os.getpid()}.part", tmp_path / "a.tsv"
    left.touch()
    check_writable(str(path))
    assert list(tmp_path.iterdir()) == [left]
    with whole_file(str(path)) as stream:
        stream.write("whole")
    assert path.read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == sorted([left, path])


def test_names_of_files_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a.sam"
    with whole_file(str(path)) as stream:
        stream.write(os.fsdecode(b"b\xff.fa \xc3\xa9"))
    assert path.read_text(encoding="utf-8") == "b\\udcff.fa \u00e9"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files without a name")
def test_a_process_that_is_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("before")
    code = f"""
from clalign.formats.writers import whole_file
with whole_file({str(path)!r}) as stream:
    stream.write("half")
    print("writing", flush=True)
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.kill()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "before"


def test_where_no_file_is_without_a_name_it_has_another_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "a.tsv"
    with whole_file(str(path)) as stream:
        stream.write("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # opened, and not yet in its block
@pytest.mark.parametrize("was_there", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("has_unnamed", [False, True], ids=["named", "unnamed"])
def test_a_signal_leaves_nothing_behind_wherever_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool, was_there: bool
) -> None:
    if not has_unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path, found = tmp_path / "a.tsv", set[str | None]()
    for moment in itertools.count():
        path.unlink(missing_ok=True)
        if was_there:
            path.write_text("before")
        with pytest.raises(KeyboardInterrupt) if moment else contextlib.nullcontext() as raised:
            lines = interrupted(lambda: write_whole(path), moment)
        found.add(path.read_text() if path.exists() else None)
        assert set(tmp_path.iterdir()) <= {path}, f"after {moment} lines"
        if raised is None:
            n_lines = lines
        if moment == n_lines:
            break
    assert found == {"before" if was_there else None, "whole"}


def write_whole(path: Path) -> None:
    with whole_file(str(path)) as stream:
        stream.write("whole")


def interrupted(act: Callable[[], None], moment: int) -> int:
    """Raise as Ctrl-C does before a line of the module (0: never); return how many lines it came to."""
    n = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal n
        if frame.f_code.co_filename != writers.__file__:
            return None
        if event == "line":
            n += 1
            if n == moment:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return n


@pytest.mark.parametrize("is_hmmer3", [True, False])
@pytest.mark.parametrize("n_rows", [1, 2])
def test_domains_whose_names_would_begin_another_line_stay_in_stockholm(
    tmp_path: Path, is_hmmer3: bool, n_rows: int
) -> None:
    row = AlignedRow("#a", "", "", 1, 3, 0, "MMM", "ACD", "***")
    card = {"name": "p", "accession": "", "description": "", "length": 3}
    if is_hmmer3:
        lines = hmmer3_stockholm_lines(card, PackedRows([row] * n_rows), "clalign")
    else:
        lines = profile_stockholm_lines(card, lambda: [row] * n_rows)
    path = tmp_path / "a.sto"
    path.write_text("".join(f"{line}\n" for line in lines))
    names = {1: ["%23a/1-3"], 2: ["0|%23a/1-3", "1|%23a/1-3"] if is_hmmer3 else ["%23a/1-3", "%23a_2/1-3"]}
    assert read_rows(str(path)).names == names[n_rows]


def test_a_row_of_deletions_ends_at_the_right() -> None:
    """As hmmsearch prints it: the dash in place of the last coordinate stands where its last digit would."""
    text = AlignmentText("a" * 120, " " * 120, "A" * 20 + "-" * 90 + "A" * 10, "9" * 120)
    path = "M" * 20 + "D" * 90 + "M" * 10
    domain = Domain(1, 10.0, 0.0, 1e-5, (1000, 1120), (2000, 2030), (2000, 2030), 10_000, path, text)
    hit = Hit(0, 0, "target", "", "", 3000, 10.0, 0.0, 1e-5, 0, (domain,), 1)
    card = {"name": "p" * 70, "accession": "", "length": 1200}
    rows = [line for line in hmmer3_text.alignment_lines(card, hit, domain, hmmer3_text.Layout()) if "target" in line]
    place = f"{'target':>72s}"
    assert rows == [
        f"{place} 2001 {'A' * 20}{'-' * 20} 2020", f"{place}    - {'-' * 40}    -",
        f"{place} 2021 {'-' * 30}{'A' * 10} 2030",
    ]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("to", ["there.txt", "new.txt", "chain"])
def test_a_link_stays_one(tmp_path: Path, to: str) -> None:
    """What it leads to is written, also through another link, and where there was nothing yet."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "there.txt").write_text("old")
    (tmp_path / "far" / "chain").symlink_to("there.txt")
    link = tmp_path / "link"
    link.symlink_to(Path("far", to))
    with whole_file(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert (tmp_path / "far" / ("there.txt" if to == "chain" else to)).read_text() == "new"
    assert (tmp_path / "far" / "chain").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_in_a_circle_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError, match=tmp_path.name), whole_file(str(tmp_path / "a")):
        pytest.fail("there is nothing to write to")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret.tsv"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(str(path)) as stream:
        (part,) = {os.fstat(number).st_mode & 0o777 for number in open_files(tmp_path)} or {mode}
        assert part == mode  # while it is written, too
        stream.write("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


def open_files(folder: Path) -> list[int]:
    """Return the descriptors of this process that lead into a folder, where the system shows them."""
    if not os.path.isdir("/proc/self/fd"):
        return []
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{number}").startswith(f"{folder}/"):
                found.append(int(number))
    return found


@pytest.mark.skipif(os.name == "nt", reason="there are no such owners")
@pytest.mark.parametrize("may", [True, False])
def test_a_file_keeps_its_owner_where_it_may_be_given_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may: bool
) -> None:
    path = tmp_path / "theirs.tsv"
    path.write_text("old")
    given = []

    def change(number: int, user: int, group: int) -> None:
        if user >= 0 and not may:
            raise PermissionError(errno.EPERM, "not allowed")
        given.append((user, group))

    monkeypatch.setattr(os, "fchown", change)
    facts = path.stat()
    with whole_file(str(path)) as stream:
        stream.write("new")
    assert given == [(facts.st_uid if may else -1, facts.st_gid)]
    assert path.read_text() == "new"


def test_a_folder_that_takes_no_file_does_not_stop_the_writing_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "there.txt"
    path.write_text("old and longer")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path and allowed(place, mode))
    monkeypatch.setattr(Path, "touch", lambda *_, **__: pytest.fail("a file was made"))
    with whole_file(str(path)) as stream:
        stream.write("new")
    assert path.read_text() == "new"


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_by_its_path_goes_on_where_it_is(tmp_path: Path, name: str) -> None:
    """Also where it is a file: what is in it stays."""
    code = (
        "import sys; from clalign.formats.writers import whole_file\nwith whole_file(sys.argv[1]) as f: f.write('new')"
    )
    (tmp_path / "link").symlink_to("/dev/stdout")
    out = tmp_path / "out.txt"
    out.write_text("old ")
    with out.open("a") as stream:
        command = [sys.executable, "-c", code, str(tmp_path / name) if name == "link" else name]
        subprocess.run(command, stdout=stream, check=True)
    assert out.read_text() == "old new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out.txt"]
