"""Results of the laboratories as files: JSON with a kind."""

from __future__ import annotations

import json
from pathlib import Path

from clalign.common.plain_data import Json
from clalign.errors import InputError
from clalign.formats.small_files import MAX_DOCUMENT_BYTES, read_small_json
from clalign.labs.comparison_documents import merge_comparisons, read_comparison

from ...settings import write_whole

COMPARISON, SEARCHES = "comparison", "search_comparison"


def read_document(path: str) -> Json:
    """Read a laboratory's result.

    Raises
    ------
    InputError
        It is not readable, or something else.
    """
    from clalign.labs.register import LABORATORIES

    hint = "Choose a JSON file that clalign saved from the laboratory: a ladder, say, or a device comparison."
    try:
        document = read_small_json(Path(path), MAX_DOCUMENT_BYTES)
    except OSError as error:
        raise InputError(path, f"not readable because: {error.strerror}.", "Check the file.") from error
    except ValueError as error:
        raise InputError(path, f"not readable as JSON ({error}).", hint) from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in LABORATORIES:
        raise InputError(path, "not a report of clalign's laboratory.", hint)
    if kind == COMPARISON:
        read_comparison(path)  # says what is wrong with it
    assert isinstance(document, dict)
    missing = [name for name in LABORATORIES[kind].needed if name not in document]
    if missing:
        raise InputError(path, f"not a whole document: {', '.join(missing)} is missing.", hint)
    return document


def with_other_machine(document: Json, path: str) -> Json:
    """Return a comparison extended by the devices in the file of another machine.

    Raises
    ------
    ClalignError
        The other is not readable, or ran another job.
    """
    if document["kind"] == SEARCHES:
        from clalign.labs.search_comparison import merged

        return merged(document, read_document(path), Path(path).stem)
    return merge_comparisons([document, read_comparison(path)])


def write_document(document: Json, path: Path) -> None:
    """Write a result atomically.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    write_whole(path, json.dumps(document, indent=1) + "\n")
