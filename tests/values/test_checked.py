"""Plain data against types."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, TypedDict

import pytest
from msgspec import Struct

from clalign.values import checked
from clalign.values.checked import ValidationError, check_as, parsed_as, plain


class Inner(TypedDict):
    size: checked.Place


class Outer(Struct):
    inner: Inner
    score: checked.Number = 0


@pytest.mark.parametrize("text", ['{"inner": {"size": 3}, "score": 2}', '{"inner": {"size": 3}, "score": Infinity}'])
def test_data_of_a_type_comes_back_as_it_was(text: str) -> None:
    found = parsed_as(Outer, text)
    assert found.inner == {"size": 3}
    assert found.score in (2, math.inf)
    assert type(found.score) is type(plain(found)["score"])
    assert check_as(Outer, plain(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, "9" * 5000, '{"inner": {}}', '{"inner": {"size": 2.0}}', '{"inner": {"size": -1}}',
     '{"inner": {"size": true}}', '{"inner": {"size": 3}, "score": NaN}', None, b"\xff",
     f'{{"inner": {{"size": 3}}, "score": {10**400}}}'],
)  # fmt: skip
def test_other_data_is_refused(text: Any) -> None:
    with pytest.raises(ValidationError):
        parsed_as(Outer, text)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (checked.Line, ["", "a b"], ["a\nb", "a\n", "\r", "\0", 1]),
        (checked.Word, ["a\nb"], ["a\0"]),
        (checked.Count, [0, 2**53], [-1, 2**53 + 1, 1.0, True]),
        (checked.Finite, [-3, 1e299], [math.inf, -math.inf, math.nan, 2**60]),
        (checked.NotNegative, [0, 0.0, 5], [-1, -0.5, math.inf]),
        (checked.Positive, [1, 1e-9], [0, 0.0]),
        (checked.Size, [0, math.inf], [-1, math.nan]),
        (checked.Moment, [0, 4.1e9], [-1, 1e12]),
    ],
)
def test_each_type_takes_what_it_says(kind: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert check_as(kind, value) == value
    for value in bad:
        with pytest.raises(ValidationError):
            check_as(kind, value)


SCRIPT = """
import sys, threading
from msgspec import Struct, convert, defstruct
from clalign.values.checked import check_as
sys.setswitchinterval(1e-6)
for number in range(40):
    kinds = [defstruct(f"Part{n}", [("value", int)]) for n in range(20)]
    whole = defstruct("Whole", [(f"part_{n}", kind | None, None) for n, kind in enumerate(kinds)])
    start = threading.Barrier(4)
    work = lambda: (start.wait(), CONVERT)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_several_threads_may_be_the_first_to_use_a_type() -> None:
    script = SCRIPT.replace("CONVERT", "check_as(whole, {'part_0': {'value': 1}})")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
