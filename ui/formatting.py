"""Numbers, sizes and times as text of the window."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import textwrap
import time
from datetime import datetime
from functools import cache
from pathlib import Path

from clalign.common import amounts as sizes
from clalign.common.escapes import escaped
from clalign.engines.engine import Engine, engines
from clalign.errors import ClalignError
from clalign.values import sequences
from clalign.values.documents import JobResult

THIN = sizes.THIN

TIP_LETTERS, TIP_LINES = 100, 20
"""Letters of a line and lines of a tooltip: descriptions of 60,000 letters exist."""


def tip(text: str) -> str:
    """Return a text wrapped for a tooltip; Qt does not wrap plain text."""
    text = escaped(text)
    lines = [line for part in text[: TIP_LETTERS * TIP_LINES].split("\n") for line in textwrap.wrap(part, TIP_LETTERS)]
    is_whole = len(lines) <= TIP_LINES and len(text) <= TIP_LETTERS * TIP_LINES
    return "\n".join(lines if is_whole else [*lines[: TIP_LINES - 1], "…"])


def short_name(name: str) -> str:
    """Return the most distinctive part of a name, with control characters escaped."""
    return escaped(sequences.short_name(name))


def short_text(text: str, most: int = 60) -> str:
    """Return a text with its middle omitted if it is longer than some letters."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2 - 1) :]}"


ZERO = "\u200b"
"""A zero-width place for a line break."""

LONG_WORD = 22
"""Letters without a break that fit any column."""


def breakable(text: str) -> str:
    """Return a heading with break points in long names: after punctuation, or anywhere."""
    words = (re.sub(r"(?<=[_/|.,:-])(?=\w)", ZERO, word) if len(word) > LONG_WORD else word for word in text.split(" "))
    return re.sub(rf"([^\s{ZERO}]{{{LONG_WORD}}})(?=[^\s{ZERO}])", rf"\1{ZERO}", " ".join(words))


def file_words(text: str) -> str:
    """Return a text with characters replaced that file systems reject in names."""
    return re.sub(r"[^\w.-]+", "_", text)


def count(number: float) -> str:
    """Return a whole number with its digits in groups of three, as the command line writes it."""
    return f"{round(number):,}"


def signed(text: str) -> str:
    """Return a number with a true minus sign."""
    return text.replace("-", "−")


def with_minus(sentence: str) -> str:
    """Return a sentence whose negative numbers have a true minus sign."""
    return sentence.replace(" -", f" {signed('-')}")


def curve(name: str, location: float, slope: float) -> str:
    """Return the parameters of a curve of scores; `name` is that of its location: ``mu`` or ``tau``."""
    return signed(f"{name} {location:.2f}, lambda {slope:.3f}")


def limit(value: float) -> str:
    """Return a limit in its shortest form: ``10``, ``0.01``, ``1e-5``."""
    return re.sub(r"e([+-])0*", lambda found: f"e{found[1].strip('+')}", f"{value:g}")


def span(first: int, last: int) -> str:
    """Return the two ends of a range, as in ``1–3,032``."""
    return f"{count(first)}–{count(last)}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun, as in ``3 sequences``."""
    return f"{count(number)} {noun if number == 1 else nouns or noun + 's'}"


def evalue(value: float) -> str:
    """Return an E-value or P-value with two significant digits; underflow is 0, NaN unknown."""
    if math.isnan(value):
        return "—"
    if value == 0:
        return "< 1e-300"
    if value < 1e-3 or value >= 1e5:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return count(value) if value >= 100 else f"{value:#.2g}".rstrip(".")


def score(bits: float) -> str:
    """Return a score in bits with one decimal."""
    return signed(f"{bits:.1f}")


def threshold(score: float) -> str:
    """Return a score in its shortest form, with one decimal at most."""
    return signed(f"{round(score, 1):g}")


def percent(fraction: float) -> str:
    """Return a fraction as whole percents."""
    return f"{math.floor(100 * fraction)}{THIN}%"


def cells(number: float) -> str:
    """Return a number of cells of matrices, in millions, billions or trillions."""
    for unit, word in ((1e12, "trillion"), (1e9, "billion")):
        if number >= unit:
            return f"{number / unit:.2f} {word} cells"
    return f"{number / 1e6:.2f} million cells"


def share(percent: float) -> str:
    """Return a percentage without its sign; small ones are not 0, and almost all is not 100."""
    if 0 < percent < 0.95:
        return f"{percent:.1f}" if percent >= 0.05 else "<0.1"
    return f"{math.floor(10 * percent) / 10:.1f}" if 99.5 <= percent < 100 else f"{percent:.0f}"


def duration(seconds: float) -> str:
    """Return a time span in its two largest units."""
    if seconds < 10:
        return f"{max(seconds, 0.1):.1f}{THIN}s"
    if seconds < 60:
        return f"{round(seconds)}{THIN}s"
    minutes = round(seconds / 60)
    if seconds < 600:
        return f"{int(seconds // 60)}{THIN}min {int(seconds % 60)}{THIN}s"
    if minutes < 60:
        return f"{minutes}{THIN}min"
    return f"{minutes // 60}{THIN}h {minutes % 60}{THIN}min"


MANY_DAYS = 2 * 86_400
"""Seconds from which on estimates are in days."""


def run_time(finished: JobResult) -> str:
    """Return the time of a run; of one that was continued it is that of its last part, the only one that is stored."""
    is_whole = finished["new_cells"] >= finished["cells"]
    return duration(finished["seconds"]) + ("" if is_whole else " (last part)")


def about(seconds: float) -> str:
    """Return a time that is only estimated, in whole seconds below 10 s."""
    whole = math.ceil(seconds)
    if whole >= MANY_DAYS:
        return f"about {round(whole / 86_400)} days"
    return f"about {whole}{THIN}s" if whole < 10 else f"about {duration(whole)}".removesuffix(f" 0{THIN}s")


def size(n_bytes: float) -> str:
    """Return an amount of memory with a narrow space."""
    return sizes.size_text(n_bytes, THIN)


def rate(gcups: float) -> str:
    """Return a speed in 10^9 cells a second, with the digits of the command line."""
    return sizes.rate_text(gcups, THIN)


def moment(seconds: float, now: float | None = None) -> str:
    """Return a time (seconds since 1970) as text: ``today 10:42``, ``yesterday``, ``14 March 2026``."""
    then, today = datetime.fromtimestamp(seconds), datetime.fromtimestamp(now or time.time())
    days = (today.date() - then.date()).days
    if days == 0:
        return f"today {then:%H:%M}"
    if days == 1:
        return f"yesterday {then:%H:%M}"
    return f"{then.day} {then:%B %Y}"


def short_path(path: str) -> str:
    """Return a path with the home folder written as ``~``."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def alphabet(name: str) -> str:
    """Return the title of an alphabet."""
    return {"amino": "protein", "dna": "DNA", "rna": "RNA", "auto": "automatic"}.get(name, name)


def unit(alphabet: str) -> str:
    """Return the noun for a letter of a sequence."""
    return "residue" if alphabet == "amino" else "base"


def length(n_letters: int, alphabet: str) -> str:
    """Return the length of a sequence."""
    return plural(n_letters, unit(alphabet))


@cache
def _entries(engine: str) -> dict[str, str]:
    """Return the labels of options in the form of an engine, or in all forms, by their flags."""
    fields = [f for one in engines() if engine in ("", one.name) for f in dataclasses.fields(one.spec)]
    options = [f.metadata for f in fields if "flag" in f.metadata]
    return {
        flag: f"\u201c{option['label']}\u201d" for option in reversed(options) for flag in option["flag"].split("|")
    }


_FLAG_OR_COMMAND = re.compile(
    r"`[^`]*`|(?<![\w./-])clalign [a-z]\w*(?: [^\s;,)]*[^\s;,.)])*|(?<![\w./-])--?[A-Za-z][\w-]*"
)
"""An option, or a whole command, between backquotes or up to the next mark; it is kept as it stands."""


def in_window(text: str, engine: Engine | None = None) -> str:
    """Return a message with command-line options replaced by their labels in forms.

    Those of a command that is named stay: it is to be typed.

    Parameters
    ----------
    text : str
    engine : Engine, optional
        Whose form it is; by default the first that has such an option.
    """
    known = _entries(engine.name if engine is not None else "")
    return _FLAG_OR_COMMAND.sub(lambda found: known.get(found[0], found[0]), text)


def error_text(error: Exception, what: str) -> str:
    """Return an error as text; `what` begins the sentence unless the error is one of clalign's own."""
    if isinstance(error, ClalignError):
        return str(error)
    why = " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".")
    return f"{what} because: {why or type(error).__name__}."
