"""Write the commands with their options into cli.md, from the parsers of the command line.

python docs/cli_page.py
"""

from __future__ import annotations

import re
from pathlib import Path

from clalign.cli.program import all_commands, parser_of

PAGE = Path(__file__).parent / "cli.md"
PLACE = re.compile(r"(<!-- commands -->\n).*(<!-- end of commands -->)", re.DOTALL)


def commands_text() -> str:
    """Return a table of all commands, and a section with the help of each."""
    commands = all_commands()
    lines = ["| command | what it does |", "|---|---|"]
    lines += [f"| [{name}](#clalign-{name}) | {words} |" for name, words in commands.items()]
    for name in commands:
        parser = parser_of(name)
        assert parser is not None
        parser.epilog = None  # the exit codes, which stand above
        lines += ["", f"## clalign {name}", "", "```text", parser.format_help().strip(), "```"]
    return "\n".join(lines)


def renewed(text: str) -> str:
    """Return the page with today's commands."""
    return PLACE.sub(lambda found: f"{found[1]}\n{commands_text()}\n\n{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
