"""Numbers as they are typed on a command line."""

from __future__ import annotations

import argparse
import math


class OutOfRange(argparse.ArgumentTypeError):
    """A number that is out of the range of its option.

    Parameters
    ----------
    value : str
        As it was given.
    wanted : str
        The numbers that are allowed, in words.
    """

    def __init__(self, value: str, wanted: str) -> None:
        super().__init__(value)
        self.value = value
        self.wanted = wanted


def number(text: str) -> float:
    """Return a finite number from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def positive_number(text: str) -> float:
    """Return a finite number above 0 from the command line."""
    value = number(text)
    if value <= 0:
        raise OutOfRange(text, "a number above 0")
    return value


def signed_number(text: str) -> int:
    """Return a whole number, perhaps below 0, from the command line."""
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def whole_number(text: str) -> int:
    """Return a whole number from 0 on from the command line."""
    value = signed_number(text)
    if value < 0:
        raise OutOfRange(text, "a whole number from 0 on")
    return value


def count(text: str) -> int:
    """Return a whole number above 0 from the command line."""
    value = signed_number(text)
    if value <= 0:
        raise OutOfRange(text, "a whole number above 0")
    return value
