"""Pictures of the window for the documentation, made from the bundled examples with the real worker.

Run under a display, or without one::

    xvfb-run -a -s "-screen 0 2000x1200x24" python docs/screenshots.py

With ``--runs`` they are of runs of your own, every tab of each, and of the pages that belong to no run; in other sizes,
and as on screens with small pixels, to look at them all::

    python docs/screenshots.py --runs proteome.clalign genomes.clalign --size 900x600 --scale 2 --out pictures

With ``--live`` they are of every tab of a search with profiles of your own while it runs, on devices with given ids::

    python docs/screenshots.py --live families.hmm proteome.fasta --device 0:0,reference --out pictures

Every picture is taken from the window as a user would see it; nothing is drawn by hand.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clalign.databases.examples import load_examples, load_pair_examples
from clalign.labs.register import LABORATORIES
from clalign.ui.engines.pairwise.card import PairCard
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.engines.plan7.calibrate_sheet import CalibrateSheet
from clalign.ui.engines.plan7.profile_view import ProfileView
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.settings import Settings
from clalign.ui.shell.app import make_application, open_window
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.laboratory.comparison_page import ComparisonPage
from clalign.ui.views.laboratory.rung_page import RungPage
from clalign.ui.views.results.explain_sheet import ExplainSheet
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.widgets.parts import LazyView, LazyWidget
from clalign.ui.worker_process import default_worker

WAIT_SECONDS = 600


def wait_until(holds: Callable[[], bool], what: str, pause_ms: int = 20) -> None:
    """Let the window live until something holds."""
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        # QTest.qWait would keep Python's lock, and threads that read for the window could hardly go on.
        loop = QEventLoop()
        QTimer.singleShot(pause_ms, loop.quit)
        loop.exec()
        if time.monotonic() > end:
            sys.exit(f"{what}: nothing happened for {WAIT_SECONDS} s")


def rest(seconds: float) -> None:
    """Let the window live for a while."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, "rest")


def few_colors(image: QImage) -> QImage:
    """Return a picture with its 256 most common colors: a third of the size, and nobody sees it."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32)
    colors, counts = np.unique(pixels, return_counts=True)
    table = [int(color) for color in colors[np.argsort(-counts)[:256]]]
    return image.convertToFormat(QImage.Format.Format_Indexed8, table, Qt.ImageConversionFlag.ThresholdDither)


class Photographer:
    """Takes pictures of one window in one theme."""

    def __init__(self, window: MainWindow, folder: Path, theme: str) -> None:
        self.window, self.folder, self.theme = window, folder, theme

    def take(self, name: str, rest_seconds: float = 0.4) -> None:
        """Save a picture of the whole window."""
        rest(rest_seconds)
        path = self.folder / f"{name}-{self.theme}.png"
        few_colors(self.window.grab().toImage()).save(str(path), "PNG", 0)  # 0: the smallest file
        print(path)


def open_example(window: MainWindow, folder: Path) -> None:
    """Open the files of an example together; the search sheet opens."""
    controller = window.controller
    controller.sources.open_paths([str(folder / "rrm_1.hmm"), str(folder / "swissprot_sample.fasta.gz")])
    wait_until(lambda: controller.search.sheet is not None, "The search sheet")


def run_search(window: MainWindow) -> ResultsPage:
    """Press "Run search" and wait for the end."""
    controller = window.controller
    controller.search.run()
    wait_until(lambda: controller.queue.current is None and controller.page is not None, "The end of the search")
    page = controller.page
    assert page is not None
    wait_until(lambda: page.run.hits.n_all > 0 and page.run.is_complete, "The hits")
    return page


def photograph_run(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Search several profiles, and take the picture in the middle."""
    controller = window.controller
    controller.sources.open_paths([str(folder / "domains.hmm")])
    wait_until(lambda: controller.inspector.is_idle, "The profiles")
    controller.search.open_sheet()
    controller.search.run()
    wait_until(lambda: controller.page is not None and controller.page.run.hits.n_all > 0, "The first hits", 5)
    wait_until(lambda: not controller.queue.current or controller.queue.current.course.fraction > 0.35, "The search", 5)
    shots.take("running", 0)
    wait_until(lambda: controller.queue.current is None, "The end of the search")


def photograph(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Walk through the window."""
    controller = window.controller
    wait_until(lambda: controller.workspace.devices_known, "The devices")
    shots.take("start")
    open_example(window, folder)
    shots.take("search")
    window.sheets.close_sheet()
    photograph_run(window, shots, folder)
    controller.show_start()
    open_example(window, folder)
    page = run_search(window)
    page.hits.table.setFocus()
    page.step_hit(1)
    shots.take("hits")
    controller.show_tab("histogram")
    shots.take("histogram")
    controller.show_report()
    shots.take("report")
    window.sheets.close_sheet()
    controller.show_tab("hits")
    controller.hits.export_hits()
    shots.take("export")
    window.sheets.close_sheet()
    window.show_palette()
    QTest.keyClicks(window.palette_.field, "co")
    shots.take("commands")
    window.palette_.hide()
    controller.devices.device_details()
    shots.take("device")
    window.sheets.close_sheet()
    photograph_pairs(window, shots, folder)
    controller.show_run(str(page.run.path))
    photograph_hmmer3(window, shots, folder)
    photograph_laboratory(window, shots, folder)
    photograph_error(window, shots, folder)


def photograph_search(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Search with a HMMER2 profile, and from its hits with a HMMER3 profile."""
    wait_until(lambda: window.controller.workspace.devices_known, "The devices")
    open_example(window, folder)
    run_search(window)
    photograph_hmmer3(window, shots, folder)


def photograph_hmmer3(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Build a HMMER3 profile from the hits in view, search with it, and look at profile, filters and one sequence."""
    controller = window.controller
    page = controller.page
    assert page is not None
    alignment = folder / "rrm.sto"
    controller.jobs.export(str(page.run.path), "stockholm", str(alignment), None)
    wait_until(lambda: controller.queue.current is None and alignment.exists(), "The alignment")
    controller.sources.open_paths([str(alignment)])
    wait_until(lambda: controller.inspector.is_idle, "The alignment")
    shots.take("alignment-file")
    controller.search.building.build(str(alignment), True)
    wait_until(lambda: controller.search.sheet is not None, "The profile")
    controller.workspace.choose(str(folder / "swissprot_sample.fasta.gz"))
    shots.take("search-hmmer3")
    page = run_search(window)
    window.messages.clear_passed()
    page.hits.table.choose_row(0)
    shots.take("hits-hmmer3")
    page.show_tab("histogram")
    shots.take("histogram-hmmer3")
    page.show_tab("query")
    wait_until(lambda: page.profile.figure is not None, "The logo")
    page.profile.choose_node(5)
    shots.take("profile")
    page.show_tab("funnel")
    wait_until(lambda: bool(page.funnel.rows), "The filters")
    page.funnel.rows[3].passed.click()
    wait_until(lambda: bool(page.funnel.table.rows), "The sequences")
    shots.take("filters")
    controller.explanations.explain_hit()
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    wait_until(lambda: bool(sheet.value), "The explanation")
    shots.take("explain")
    window.sheets.close_sheet()


def photograph_pairs(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Compare three proteins with many, and look at the hits of one."""
    controller = window.controller
    wait_until(lambda: controller.workspace.devices_known, "The devices")
    queries, targets = str(folder / "three_proteins.fasta"), str(folder / "swissprot_sample.fasta.gz")
    controller.sources.open_quietly([queries, targets])
    wait_until(lambda: controller.inspector.is_idle, "The sequences")
    controller.workspace.choose(targets)
    controller.workspace.choose_queries(queries)
    controller.pairs.open_sheet()
    shots.take("compare")
    controller.pairs.run()
    wait_until(lambda: controller.queue.current is None and isinstance(controller.page, PairPage), "The comparison")
    page = controller.page
    assert isinstance(page, PairPage)
    wait_until(lambda: page.run.is_complete and page.run.hits.n_all > 0, "The hits")
    page.run.set_profile(2)
    wait_until(lambda: not page.run.hits.is_busy and page.run.histogram is not None, "The hits of the last query")
    page.hits.table.choose_row(5)
    shots.take("hits-pairs")
    assert isinstance(page.hit, PairCard)
    canvas = page.hit.dots.canvas
    wait_until(lambda: canvas.plot is not None and canvas.plot.dots is not None, "The dot plot")
    shots.take("dot-plot")


def photograph_laboratory(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Calibrate a profile, run the ladder, and compare the device with the reference."""
    controller = window.controller
    wait_until(lambda: controller.workspace.devices_known, "The devices")
    controller.show_start()
    controller.sources.open_paths([str(folder / "thioesterase.hmm")])
    wait_until(lambda: controller.inspector.is_idle, "The profile")
    controller.search.calibrating.calibrate()
    sheet = window.sheets.sheet
    assert isinstance(sheet, CalibrateSheet)
    sheet.run_button.click()
    wait_until(lambda: bool(sheet.fits) and controller.inspector.is_idle, "The calibration")
    shots.take("calibrate")
    controller.labs.open("ladder")
    page = controller.labs.page
    assert isinstance(page, RungPage)
    page.with_experiments.setChecked(False)
    page.run()
    wait_until(lambda: not page.view.is_live, "The ladder")
    page.in_view.table.selectRow(0)
    shots.take("ladder")
    controller.labs.open("comparison")
    comparison = controller.labs.page
    assert isinstance(comparison, ComparisonPage)
    for tick in comparison.ticks.values():
        tick.setChecked(tick.isEnabled())
    comparison.nodes.setText("60")
    comparison.residues.setText("60000")
    comparison.run()
    wait_until(lambda: not comparison.view.is_live, "The comparison")
    shots.take("comparison")


def photograph_error(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Open a file that is no sequence file, and one with doubtful letters."""
    controller = window.controller
    for name in ("picture.fasta", "doubtful.fasta"):
        controller.sources.open_paths([str(folder / name)])
        wait_until(lambda: controller.inspector.is_idle, "The file")
    controller.show_start()
    controller.sources.choose_source(str(folder / "doubtful.fasta"))
    shots.take("error")


def settled(window: MainWindow) -> None:
    """Wait until everything that the page in view asked for is there."""
    controller = window.controller
    for _ in range(2):
        rest(0.3)
        wait_until(lambda: controller.reader.is_idle and controller.inspector.is_idle, "The page")


def is_filled(page: ResultsPage) -> bool:
    """Return whether the tab in view shows what it is for, or says that a file has moved."""
    place = page.part_widgets[page.tab]
    shown = place.content if isinstance(place, LazyWidget) else place
    if isinstance(shown, ProfileView) and shown.locate_button.isVisible():
        return True
    if isinstance(shown, LazyView):
        return getattr(shown, "content", True) is not None
    return getattr(shown, "figure", True) is not None


def photograph_page(window: MainWindow, shots: Photographer, stem: str) -> None:
    """Go through the tabs of the run in view."""
    page = window.controller.page
    assert page is not None
    wait_until(lambda: bool(page.run.cards) and not page.run.is_due and not page.run.hits.is_busy, "The run")
    settled(window)
    for name in page.shown_parts:
        page.show_tab(name)
        settled(window)
        wait_until(lambda: is_filled(page), name)
        shots.take(f"{stem}-{name}", 0.2)
    if page.run.all_words and not page.run.shows_all:
        page.run.set_profile(ALL_QUERIES)
        settled(window)
        for name in (name for name in ("hits", "histogram", "pictures", "aligned", "query") if page.has_tab(name)):
            page.show_tab(name)
            settled(window)
            wait_until(lambda: window.controller.files.is_idle, name)
            shots.take(f"{stem}-{name}-all", 0.2)
    if "hits" in page.TABS:
        page.show_tab("hits")
        window.controller.hits.export_hits()
        shots.take(f"{stem}-export")
        window.sheets.close_sheet()


def photograph_rest(window: MainWindow, shots: Photographer, folder: Path) -> None:
    """Take what belongs to no run: forms, laboratory, library, help."""
    controller = window.controller
    controller.show_start()
    shots.take("start")
    controller.sources.open_quietly([str(folder / "domains.hmm"), str(folder / "swissprot_sample.fasta.gz")])
    settled(window)
    for name, form in (("search", controller.search), ("compare", controller.pairs), ("align", controller.align)):
        form.open_sheet()
        shots.take(f"form-{name}")
        form.sheet.form.toggle_more()
        shots.take(f"form-{name}-more")
    window.sheets.close_sheet()
    for kind in LABORATORIES:
        controller.labs.open(kind)
        shots.take(f"lab-{kind}")
    controller.search.profiles.open_profile(str(folder / "domains.hmm"))
    settled(window)
    shots.take("profile-of-file")
    controller.library.show()
    settled(window)
    shots.take("library")
    controller.help.show()
    shots.take("help")
    controller.help.show("glossary")
    shots.take("glossary")
    for name, open_it in (
        ("preferences", controller.preferences), ("paste", controller.sources.paste_sequences),
        ("keys", window.show_keys), ("about", window.about), ("device", controller.devices.device_details),
    ):  # fmt: skip
        open_it()
        shots.take(f"sheet-{name}")
        window.sheets.close_sheet()


def photograph_live(window: MainWindow, shots: Photographer, folder: Path, files: list[Path], device: str) -> None:
    """Search with profiles, and look at every tab that there is while the search runs."""
    controller = window.controller
    wait_until(lambda: controller.workspace.devices_known, "The devices")
    controller.sources.open_paths([str(path.resolve()) for path in files])
    wait_until(lambda: controller.inspector.is_idle and controller.search.sheet is not None, "The files")
    controller.workspace.choose_device(device)
    shots.take("live-form")
    controller.search.run()
    shots.take("live-started", 0)
    wait_until(lambda: controller.page is not None and controller.page.run.hits.n_all > 0, "The first hits", 5)
    page = controller.page
    assert page is not None
    for name in page.shown_parts:
        page.show_tab(name)
        shots.take(f"live-{name}", 1)
    page.run.set_profile(ALL_QUERIES)
    for name in ("hits", "histogram"):
        page.show_tab(name)
        shots.take(f"live-{name}-all", 1)
    if controller.queue.current is None:
        print("The search was over before the last picture.", file=sys.stderr)
    wait_until(lambda: controller.queue.current is None, "The end of the search")
    settled(window)
    shots.take("live-over")


def photograph_runs(window: MainWindow, shots: Photographer, folder: Path, runs: list[Path]) -> None:
    """Walk through runs of your own, and all other pages."""
    controller = window.controller
    wait_until(lambda: controller.workspace.devices_known, "The devices")
    for run in runs:
        controller.sources.open_paths([str(run.resolve())])
        photograph_page(window, shots, run.stem)
    photograph_rest(window, shots, folder)


def make_files(folder: Path) -> Path:
    """Write the files for the pictures of an error and of a longer search."""
    examples = {example.id: example for example in load_examples()}
    models = []
    for number in range(1, 41):
        for name in ("rrm_1", "thioesterase"):
            lines = examples[name].profiles.read_text().splitlines(keepends=True)
            models += [f"NAME  {name}_{number}\n" if line.startswith("NAME") else line for line in lines]
    (folder / "domains.hmm").write_text("".join(models))
    pairs = load_pair_examples()[0].queries
    for path in (examples["rrm_1"].profiles, examples["rrm_1"].targets, examples["thioesterase"].profiles, pairs):
        shutil.copy(path, folder)
    (folder / "picture.fasta").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    (folder / "doubtful.fasta").write_text(">a first\nMKVLAAGIV1LLSA\n>a second\nMKJJLLSAQQ*PRT\n>empty\n")
    return folder


def main() -> int:
    """Make the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1280x800", help="width x height in pixels")
    parser.add_argument("--theme", choices=("light", "dark", "both"), default="both")
    parser.add_argument("--hmmer3", action="store_true", help="only those of HMMER3 profiles, without the ladder")
    parser.add_argument("--pairs", action="store_true", help="only those of comparisons of sequences")
    parser.add_argument("--laboratory", action="store_true", help="only those of measurements: for a quiet machine")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    parser.add_argument("--runs", type=Path, nargs="+", help="every tab of these runs, and all pages of no run")
    parser.add_argument("--live", type=Path, nargs=2, metavar=("PROFILES", "TARGETS"), help="a search while it runs")
    parser.add_argument("--device", default="auto", help="of the search of --live")
    parser.add_argument("--scale", type=float, default=1, help="2 for a screen of small pixels")
    options = parser.parse_args()
    os.environ["QT_SCALE_FACTOR"] = f"{options.scale:g}"
    width, height = (int(part) for part in options.size.split("x"))
    options.out.mkdir(parents=True, exist_ok=True)
    # Programs for the device are kept where they are, whatever the home is: the pictures show no first use.
    os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    app = make_application(sys.argv[:1])
    for theme in ("light", "dark") if options.theme == "both" else (options.theme,):
        # The pictures show paths: they are the same wherever they are taken.
        folder = Path(tempfile.gettempdir()) / "tour"
        folder.mkdir()
        os.environ["HOME"] = os.environ["CLALIGN_CONFIG"] = str(folder)
        try:
            settings = Settings(folder / ".config", folder / ".data")
            settings.change(theme=theme)
            window = open_window(settings, default_worker(), [])
            window.resize(width, height)
            walk = photograph_search if options.hmmer3 else photograph_pairs if options.pairs else photograph
            walk = photograph_laboratory if options.laboratory else walk
            walk = partial(photograph_runs, runs=options.runs) if options.runs else walk
            walk = partial(photograph_live, files=options.live, device=options.device) if options.live else walk
            walk(window, Photographer(window, options.out, theme), make_files(folder))
            window.close()
            QApplication.sendPostedEvents()
        finally:
            shutil.rmtree(folder)
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main())
