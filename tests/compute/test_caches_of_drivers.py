"""Drivers find their devices where the home folder cannot be written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from clalign.compute.opencl import choice
from clalign.compute.opencl.choice import pick_device, pick_devices
from clalign.databases import cache_root
from clalign.databases.cache_root import can_write, use_temporary_cache
from clalign.values.devices import REFERENCE

SHOWN = """
import json, os, sys
import clalign.compute.opencl
print(json.dumps({name: os.environ.get(name, "") for name in ("POCL_CACHE_DIR", "PYOPENCL_NO_CACHE")}))
"""


def variables(**given: str) -> dict[str, str]:
    """Return what a process with an environment sets before a driver is loaded."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("POCL_CACHE", "CLALIGN_", "XDG_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", SHOWN], env={**kept, **given}, capture_output=True, check=True, text=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_a_cache_that_is_named_holds_that_of_the_driver(tmp_path: Path) -> None:
    found = variables(HOME=str(tmp_path), CLALIGN_CACHE_DIR=str(tmp_path / "own"))
    assert Path(found["POCL_CACHE_DIR"]).is_relative_to(tmp_path / "own")
    assert Path(found["POCL_CACHE_DIR"]).parent.is_dir()
    assert variables(HOME=str(tmp_path)) == {"POCL_CACHE_DIR": "", "PYOPENCL_NO_CACHE": ""}
    mine = variables(HOME=str(tmp_path), CLALIGN_CACHE_DIR=str(tmp_path / "own"), POCL_CACHE_DIR="/there")
    assert mine["POCL_CACHE_DIR"] == "/there"


def test_no_cache_of_pyopencl_where_its_folder_cannot_be(tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("no folder")
    found = variables(HOME=str(tmp_path), CLALIGN_CACHE_DIR=str(tmp_path / "own"))
    assert found["PYOPENCL_NO_CACHE"] == "1"


def test_a_folder_where_this_user_may_not_look_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, stat, access = tmp_path / "hidden", os.stat, os.access

    def refuse(path: Any, *args: Any, **more: Any) -> os.stat_result:
        if hidden in Path(path).parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return stat(path, *args, **more)

    hidden.mkdir()
    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != hidden and access(path, mode))
    assert not can_write(hidden / ".cache" / "clalign-cache")
    assert can_write(tmp_path / "other")


def test_a_temporary_cache_where_the_usual_one_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    assert can_write(tmp_path / "not there" / "nor this")
    assert not can_write(tmp_path / "file" / "below")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "file"))
    assert use_temporary_cache() == "", "what the user has named is left to them"
    monkeypatch.setenv("CLALIGN_CACHE_DIR", "")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda: str(tmp_path))
    assert use_temporary_cache() == ""
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda: str(tmp_path / "file"))
    assert use_temporary_cache() != ""
    assert can_write(cache_root.cache_root())
    assert use_temporary_cache() == "", "children go on with it"


def test_a_fallback_to_the_reference_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    bad = REFERENCE.judged("not usable", "The cable is loose.")
    monkeypatch.setattr(choice, "familiar_devices", lambda: [REFERENCE])
    assert pick_device("auto", messages.append) is REFERENCE
    assert len(messages) == 1
    assert pick_device("reference", messages.append) is REFERENCE
    assert len(messages) == 1, "who asks for it knows"
    monkeypatch.setattr(choice, "familiar_devices", lambda: [replace(bad, kind="cpu", id="0:0"), REFERENCE])
    assert pick_device("auto", messages.append) is REFERENCE
    assert "The cable is loose." in messages[1]
    devices, remarks = pick_devices("auto")
    assert devices == [REFERENCE]
    assert "The cable is loose." in remarks[0]
