"""Copies of profile files with new EVD lines: nothing else changes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from clalign.errors import InputError, OptionError, OutputError
from clalign.formats.calibrated import ModelHead, evd_line, model_heads, write_calibrated
from clalign.formats.profiles import load_profiles
from clalign.values.profiles import Calibration

PROFILES = Path(__file__).parents[1] / "golden" / "profiles"
WITHOUT, WITH = (PROFILES / f"{name}.hmm" for name in ("katdna_ls", "globins_ls"))
VALUES = Calibration("gumbel", -100.974823, 0.184283)
LINE = b"EVD   -100.974823   0.184283"


def written(folder: Path, data: bytes, *calibrations: tuple[str, Calibration]) -> bytes:
    path, output = folder / "in.hmm", folder / "out.hmm"
    path.write_bytes(data)
    write_calibrated(str(path), str(output), calibrations)
    return output.read_bytes()


def test_line_is_as_hmmcalibrate_writes_it() -> None:
    assert evd_line(VALUES).encode() == LINE
    assert evd_line(Calibration("gumbel", -5.9548741, 0.9904579)) == "EVD    -5.954874   0.990458"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_is_put_before_the_table(tmp_path: Path, end: bytes) -> None:
    data = WITHOUT.read_bytes().replace(b"\n", end)
    found = written(tmp_path, data, ("katdna_ls", VALUES))
    assert found.replace(LINE + end, b"", 1) == data
    lines = found.split(end)
    place = lines.index(LINE)
    assert lines[place - 1].startswith(b"NULE")
    assert lines[place + 1].startswith(b"HMM ")


def test_line_is_replaced(tmp_path: Path) -> None:
    data = WITH.read_bytes()
    found = written(tmp_path, data, ("globins_ls", VALUES))
    (old,) = (line for line in data.split(b"\n") if line.startswith(b"EVD"))
    assert old != LINE
    assert found == data.replace(old, LINE)


def test_repeated_and_early_lines_become_one(tmp_path: Path) -> None:
    data = WITHOUT.read_bytes()
    given = data.replace(b"NULE ", b"EVD   1 2\nEVD   -3 4\nNULE ")
    assert written(tmp_path, given, ("katdna_ls", VALUES)) == data.replace(b"NULE ", LINE + b"\nNULE ")


def test_several_models_each_get_their_own(tmp_path: Path) -> None:
    data = WITH.read_bytes() + b"\n\r\n" + WITHOUT.read_bytes().rstrip(b"\n")
    other = Calibration("gumbel", -5.0, 0.5)
    found = written(tmp_path, data, ("globins_ls", other), ("katdna_ls", VALUES))
    lines = [line for line in found.split(b"\n") if line.startswith(b"EVD")]
    assert lines == [evd_line(other).encode(), LINE]
    assert found.endswith(b"//")


def test_odd_bytes_and_short_pieces_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latin-1 and other bytes in comments, and line ends at the edge of what is read at once."""
    data = WITH.read_bytes().replace(b"COM ", b"DESC  na\xefve \xff\x01 text\nCOM ", 1).replace(b"\n", b"\r\n")
    expected = written(tmp_path, data, ("globins_ls", VALUES))
    for size in (1, 7, 64):
        monkeypatch.setattr("clalign.formats.calibrated.CHUNK", size)
        assert written(tmp_path, data, ("globins_ls", VALUES)) == expected
    assert expected.count(b"\xefve \xff\x01 text\r\n") == 1


def test_copy_is_read_with_its_values(tmp_path: Path) -> None:
    written(tmp_path, WITHOUT.read_bytes(), ("katdna_ls", VALUES))
    before, (after,) = load_profiles(str(WITHOUT))[0], load_profiles(str(tmp_path / "out.hmm"))
    assert after.calibration is not None
    assert (round(after.calibration.location, 4), round(after.calibration.slope, 6)) == (-100.9748, 0.184283)
    assert (after.match == before.match).all()


def test_in_place_keeps_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "a.hmm", tmp_path / "link.hmm"
    path.write_bytes(WITHOUT.read_bytes())
    path.chmod(0o640)
    link.symlink_to(path)
    write_calibrated(str(link), str(link), [("katdna_ls", VALUES)])
    assert link.is_symlink()
    assert LINE in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.hmm", "link.hmm"]


def test_compressed_file_is_copied_as_text(tmp_path: Path) -> None:
    path, output = tmp_path / "a.hmm.gz", tmp_path / "b.hmm"
    path.write_bytes(gzip.compress(WITHOUT.read_bytes()))
    write_calibrated(str(path), str(output), [("katdna_ls", VALUES)])
    assert output.read_bytes().replace(LINE + b"\n", b"") == WITHOUT.read_bytes()


@pytest.mark.parametrize("names", [(), ("globins_ls",), ("katdna_ls", "katdna_ls")])
def test_other_models_than_were_calibrated(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"in\.hmm"):
        written(tmp_path, WITHOUT.read_bytes(), *((name, VALUES) for name in names))
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.hmm"]


def test_unwritable_place(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_calibrated(str(WITHOUT), str(tmp_path / "no" / "out.hmm"), [("katdna_ls", VALUES)])


def test_heads(tmp_path: Path) -> None:
    path = tmp_path / "a.hmm"
    path.write_bytes(b"\xef\xbb\xbf" + WITH.read_bytes() + WITHOUT.read_bytes())
    assert model_heads(str(path)) == [ModelHead("globins_ls", 150), ModelHead("katdna_ls", 10)]


def test_newer_profiles_are_refused(tmp_path: Path) -> None:
    newer = b"HMMER3/f [3.3 | Nov 2019]\nNAME  new\nLENG  1\nALPH  DNA\nHMM  A C G T\n//\n"
    path = tmp_path / "a.hmm"
    for data in (newer, WITHOUT.read_bytes() + newer):
        path.write_bytes(data)
        with pytest.raises(OptionError, match="HMMER3"):
            model_heads(str(path))
    path.write_text(">a\nMKV\n")
    with pytest.raises(InputError):
        model_heads(str(path))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_without_end_is_refused(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "x.hmm").write_bytes(b"HMMER2.0\nNAME  x\nCOM   " + bytes([65]) * (7 << 20) + end)
    with pytest.raises(InputError) as refused:
        model_heads(str(tmp_path / "x.hmm"))
    assert refused.value.line == 3
