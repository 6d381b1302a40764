"""Escapes for characters in names from files that would control a terminal or an editor.

They are the control characters of ASCII and of Latin-1 (C0, DEL, C1) except tab and line feed, the line and
paragraph separators, and the marks that change the direction of writing. Letters of any script stay as they are.
"""

from __future__ import annotations

import re

_CONTROLS = bytes((*range(9), *range(11, 32), 127))
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    r"""Return a text whose control characters are escaped as in Python: ``\x1b``, ``\u202e``."""
    if text.isascii():  # the usual case, and much faster than to search
        if len(text.encode("ascii").translate(None, _CONTROLS)) == len(text):
            return text
    elif _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_escape, text)


def in_one_line(text: str) -> str:
    """Return a text with all its control characters escaped, line feeds and tabs included."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
