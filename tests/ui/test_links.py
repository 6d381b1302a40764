"""Names of sequences and families lead to their pages in public databases."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QDesktopServices

from clalign.runs.run_file import open_run
from clalign.ui.models.results.links import links_of_name
from clalign.ui.shell.main_window import MainWindow

NCBI, EBI = "https://www.ncbi.nlm.nih.gov", "https://www.ebi.ac.uk/interpro"


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("sp|P12345|AATM_RABIT",
         ["https://www.uniprot.org/uniprotkb/P12345", f"{EBI}/protein/UniProt/P12345/"]),
        ("tr|A0A022YWF9|X_Y",
         ["https://www.uniprot.org/uniprotkb/A0A022YWF9", f"{EBI}/protein/UniProt/A0A022YWF9/"]),
        ("P12345-2", ["https://www.uniprot.org/uniprotkb/P12345", f"{EBI}/protein/UniProt/P12345/"]),
        ("PF00042.28", [f"{EBI}/entry/pfam/PF00042/"]),
        ("IPR000971", [f"{EBI}/entry/InterPro/IPR000971/"]),
        ("ref|NP_000508.1|", [f"{NCBI}/protein/NP_000508.1"]),
        ("AAA29796.1", [f"{NCBI}/protein/AAA29796.1"]),
        ("NC_000932.1", [f"{NCBI}/nuccore/NC_000932.1"]),
        ("MN908947.3", [f"{NCBI}/nuccore/MN908947.3"]),
        ("SEQ_0014", []), ("Globin", []), ("", []), ("-", []), ("P12345?x=1", []), ("scaffold12345", []),
    ],
)  # fmt: skip
def test_names_tell_their_database(name: str, addresses: list[str]) -> None:
    assert list(links_of_name(name).values()) == addresses


def test_a_link_is_opened_on_a_click_only(
    qtbot: Any, window: MainWindow, families: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    with open_run(families, writable=True) as run, run.transaction():
        run.connection.execute("UPDATE targets SET name = 'sp|P12345|' || name")
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hit is not None and page.hit.isVisible())
    assert not opened
    actions = page.hit.links.menu().actions()
    assert [action.text() for action in actions][:2] == ["P12345 in UniProt", "P12345 in InterPro"]
    actions[0].trigger()
    assert opened == ["https://www.uniprot.org/uniprotkb/P12345"]
