"""What a picture of hits is: numbers that know how they are drawn at any size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from clalign.engines.pictures.axes import EDGE, LINE
from clalign.values.drawings import Drawing, Shape, Words, text_width

Rows = Iterable[tuple[object, ...]]


class HitPicture(ABC):
    """Numbers of hits as a picture.

    Attributes
    ----------
    title : str
    sentence : str
        What is shown and what is not, honestly.
    heads : tuple of str
        What stands above the columns of `rows`.
    """

    title: str
    sentence: str
    heads: tuple[str, ...]

    @abstractmethod
    def draw(self, width: float, height: float) -> Drawing:
        """Return the picture for some pixels; it may be higher, never wider."""

    @abstractmethod
    def rows(self) -> Rows:
        """Yield the numbers behind it, as lines of a table."""

    def whole(self, width: float = 960.0, height: float = 520.0) -> Drawing:
        """Return the picture as it stands in a file: with its sentence below."""
        lines = _wrapped(self.sentence, width - 2 * EDGE)
        drawn = self.draw(width, height)
        below: list[Shape] = [
            Words(EDGE, drawn.height + (place + 0.5) * LINE, line, color="muted") for place, line in enumerate(lines)
        ]
        whole = drawn.height + len(lines) * LINE + EDGE / 2
        return Drawing(self.title, drawn.width, whole, [*drawn.shapes, *below], drawn.head, drawn.head_height)


def _wrapped(text: str, room: float) -> list[str]:
    """Return a text in lines that fit."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
