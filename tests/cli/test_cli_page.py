"""docs/cli.md holds the help of every command as it is today; all links of the documents lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_the_page_of_commands_is_todays() -> None:
    """After a change of a help text: ``python docs/cli_page.py``."""
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert runpy.run_path(str(ROOT / "docs" / "cli_page.py"))["renewed"](text) == text


def test_links_between_documents_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text("utf-8"))]
    assert len(links) > 50
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []
