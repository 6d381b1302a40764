"""The documents as the help of the window: their sections, and a search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import clalign

CONTENTS = "README"
"""The list of the documents, which defines their order."""

GLOSSARY = "glossary"
"""The document that explains words: it comes first."""

SNIPPET = 110
"""Letters around a match."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document below one heading.

    Attributes
    ----------
    document : str
        File name without its ending.
    place : int
        Which heading of the document it is.
    """

    document: str
    title: str
    heading: str
    text: str
    place: int

    def rank(self, words: list[str]) -> int:
        """Return how well it matches some words; 0 if one is missing."""
        heading, text = f"{self.title} {self.heading}".lower(), self.text.lower()
        if not all(word in heading or word in text for word in words):
            return 0
        explains = 100 * (self.document == GLOSSARY)
        return 1 + explains + 10 * sum(word in heading for word in words) + min(sum(map(text.count, words)), 9)

    def snippet(self, words: list[str]) -> str:
        """Return the text around the first match."""
        flat = " ".join(re.sub(r"[*`|#]|\[([^\]]*)\]\([^)]*\)", r"\1", self.text).split())
        found = [place for word in words if (place := flat.lower().find(word)) >= 0]
        start = max(0, min(found, default=0) - SNIPPET // 3)
        return ("…" if start else "") + flat[start : start + SNIPPET].strip() + "…"


def documents_folder() -> Path:
    """Return the folder of the documents: in the installed package, or beside it in a source tree."""
    package = Path(clalign.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent / "docs"


def without_pictures(text: str) -> str:
    """Return a document without its pictures, which are not installed."""
    text = re.sub(r"<picture>.*?</picture>|<img[^>]*>", "", text, flags=re.DOTALL)
    return re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)


def read_documents(folder: Path) -> dict[str, str]:
    """Return the documents by their names, in the order of their list."""
    names = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))}
    contents = names.pop(CONTENTS, None)
    listed = re.findall(r"\]\(([\w/]+)\.md\)", contents.read_text(encoding="utf-8")) if contents is not None else []
    order = list(dict.fromkeys([*(name for name in listed if name in names), *names]))
    return {name: without_pictures(names[name].read_text(encoding="utf-8")) for name in order}


def sections_of(document: str, text: str) -> list[Section]:
    """Return the sections of a document, one for each heading outside of code."""
    found: list[Section] = []
    title, heading, lines, in_code = "", "", [], False
    for line in text.splitlines():
        in_code = in_code != line.startswith("```")
        match = None if in_code else re.match(r"(#{1,3}) +(.*)", line)
        if match is None:
            lines.append(line)
            continue
        if title:
            found.append(Section(document, title, heading, "\n".join(lines), len(found)))
        title, heading, lines = title or match[2], match[2], []
    found.append(Section(document, title or document, heading or document, "\n".join(lines), len(found)))
    return found


class HelpPages:
    """All documents and their search.

    Parameters
    ----------
    folder : Path, optional
        By default that of the program.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.documents = read_documents(folder or documents_folder())
        self.sections = [part for name, text in self.documents.items() for part in sections_of(name, text)]

    def find(self, words: str) -> list[Section]:
        """Return the sections that contain all words, the best match first."""
        wanted = words.lower().split()
        ranked = [(part.rank(wanted), part) for part in self.sections] if wanted else []
        return [part for rank, part in sorted(ranked, key=lambda pair: -pair[0]) if rank]
