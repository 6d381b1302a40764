"""Measure how long the window stands still on each page of a run of many hits. Prints one JSON object.

python benchmarks/window_stalls.py [--hits 1000000] [--rows 50000] [--only NAME]

The hits are of two profiles. The alignment of the hits of one is that of another run, whose profiles have so many rows
each.

The window is the real one, without a display and without jobs. Each step is begun in a turn of the event loop and over
when what it asks for is shown and nothing is being read any more; a timer beats meanwhile. Of the longest time between
two beats the seconds are told (``stall``), and those that the window's own thread computed in it (``busy``): where the
former are more by far, the machine did other things, or a thread of the reader held the interpreter. ``cpu`` are the
seconds that the window's thread computed in all, ``whole`` those that the step took.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QCoreApplication, QObject, QRectF, Qt, QTimer
from PySide6.QtTest import QTest

from clalign.runs.run_file import open_run
from clalign.ui import theme
from clalign.ui.settings import Settings
from clalign.ui.shell.app import make_application
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.worker_process import default_worker

ROOT = Path(__file__).resolve().parents[1]

BEAT_MS = 2
PATIENCE_SECONDS = 600.0

Step = Callable[[], "Callable[[], bool] | None"]
"""Begins something, and returns a function that returns whether it is done."""


def make_run(path: Path, n_hits: int) -> None:
    """Write a run of two profiles with half of the hits each."""
    sys.path.append(str(ROOT))
    runs = importlib.import_module("tests.ui.hmmer3_runs")
    runs.make_many(path, n_hits // 2)
    with open_run(path, writable=True) as run, run.connection as database:
        database.execute(
            "UPDATE targets SET length = 50 + (row * 31) % 2000, description = CASE row % 50 WHEN 0 THEN 'protein"
            " kinase' ELSE 'another protein' END || ' OS=Species ' || row % 700 || ' OX=' || row % 700 || ' PE=1'"
        )
        database.execute("UPDATE hits SET evalue = exp(-0.69 * score) * 1e6, log_pvalue = -0.69 * score WHERE id > 20")


class Heart(QObject):
    """Beats every 2 ms and keeps the longest time between two beats."""

    def __init__(self) -> None:
        super().__init__()
        self.stall = self.busy = 0.0
        self._last = time.perf_counter(), time.thread_time()
        self._timer = QTimer(self, interval=BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def begin(self) -> None:
        """Count from now on."""
        self._beat()
        self.stall = self.busy = 0.0

    def _beat(self) -> None:
        now = time.perf_counter(), time.thread_time()
        if now[0] - self._last[0] > self.stall:
            self.stall, self.busy = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now


class Tour:
    """Steps through all pages.

    Parameters
    ----------
    window : MainWindow
    path : Path
        The run.
    """

    def __init__(self, window: MainWindow, path: Path) -> None:
        self.window, self.path = window, path
        self.controller = window.controller

    @property
    def page(self) -> Any:
        """The page of results."""
        return self.controller.page

    def is_idle(self) -> bool:
        """Return whether nothing is being read."""
        return bool(self.controller.reader.is_idle and self.controller.files.is_idle)

    def steps(self) -> Iterator[tuple[str, Step]]:
        """Yield the name of each step and what begins it."""
        yield "open the run", self.open
        yield from self.hits()
        yield "histogram: open", lambda: self.show("histogram")
        yield "histogram: click a bar", self.click_bar
        yield "histogram: move the threshold", lambda: self.page.run.set_threshold("report", 30.0)
        yield "histogram: reset the threshold", lambda: self.page.run.reset_thresholds()
        yield "histogram: all queries", lambda: self.page.run.set_profile(-1)
        yield "histogram: click a bar of all", self.click_bar
        yield "histogram: first query", lambda: self.page.run.set_profile(0)
        yield from self.pictures()
        yield from self.overview()
        yield from self.domains()
        for name in ("query", "funnel"):
            yield f"{name}: open", lambda name=name: self.show(name)
        yield "library: open", lambda: self.controller.library.show()
        yield "library: search", lambda: self.window.center.currentWidget().search.setText("many")
        yield "back to the results", lambda: self.controller.sources.open_paths([str(self.path)])
        yield "close the run", lambda: self.controller.close_source(str(self.path))

    def steps_of_rows(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of a run whose hits are fewer, but are aligned."""
        yield "aligned: open the run", self.open
        yield from self.aligned()

    def open(self) -> Callable[[], bool]:
        """Open the run."""
        self.controller.sources.open_paths([str(self.path)])
        return lambda: self.page is not None and self.page.run.hits.n_shown > 0 and self.page.run.histogram is not None

    def show(self, tab: str) -> None:
        """Bring a part of the results into view."""
        if self.page.has_tab(tab):
            self.page.show_tab(tab)

    def dress(self) -> None:
        """Change from light to dark, or back."""
        theme.apply("light" if theme.current() is theme.DARK else "dark")
        self.window.dress()

    def hits(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of the table."""
        yield "hits: open", lambda: self.show("hits")
        for key in ("name", "evalue", "length", "description"):
            yield f"hits: sort by {key}", lambda key=key: self.sort(key)
        yield "hits: original order", lambda: self.page.run.hits.set_order(None, False)
        yield "hits: filter", lambda: self.filter("kinase len>200")
        yield "hits: filter for a text", lambda: self.filter("many_1")
        yield "hits: no filter", lambda: self.filter("")
        yield "hits: to the end", lambda: self.page.hits.table.scrollToBottom()
        yield "hits: scroll", self.scroll
        yield "hits: select a row", lambda: self.page.hits.table.choose_row(self.page.run.hits.n_shown // 2)
        yield "hits: select all", lambda: self.page.hits.table.selectAll()
        yield "hits: sort with all selected", lambda: self.sort("score")
        yield "hits: select one", lambda: self.page.hits.table.choose_row(3)
        yield "hits: original order again", lambda: self.page.run.hits.set_order(None, False)
        yield "hits: theme", self.dress
        yield "hits: another query", lambda: self.page.run.set_profile(1)
        yield "hits: all queries", lambda: self.page.run.set_profile(-1)
        yield "hits: sort all queries by name", lambda: self.sort("name")
        yield "hits: all queries in order", lambda: self.page.run.hits.set_order(None, False)
        yield "hits: first query", lambda: self.page.run.set_profile(0)

    def sort(self, key: str) -> None:
        """Sort the table."""
        table = self.page.hits.table
        table.sort_column(table.kind.place(key))

    def filter(self, text: str) -> Callable[[], bool]:
        """Filter the table."""
        self.page.hits.filter_box.setText(text)
        return lambda: bool(self.page.run.hits.query.conditions) == bool(text)

    def scroll(self) -> Callable[[], bool]:
        """Scroll to many places, one each turn."""
        bar = self.page.hits.table.verticalScrollBar()
        return self.through(np.linspace(0, 1, 40), lambda share: bar.setValue(round(float(share) * bar.maximum())))

    @staticmethod
    def through(values: Any, act: Callable[[Any], object]) -> Callable[[], bool]:
        """Do something with each value, in a turn of its own."""
        waiting = list(values)

        def is_done() -> bool:
            if waiting:
                act(waiting.pop(0))
            return not waiting

        return is_done

    def click_bar(self) -> None:
        """Click the middle of the histogram."""
        data = self.page.run.histogram
        middle = data.edges[len(data.edges) // 2] if hasattr(data, "edges") else 30.0
        self.page._choose_bar(self.page.histogram, float(middle), float(middle) + 1.0)

    def pictures(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of the pictures."""
        from clalign.engines.pictures import KINDS

        def view() -> Any:
            return self.page.part_widgets["pictures"].content

        def is_drawn(kind: str) -> Callable[[], bool]:
            return lambda: view() is not None and (view().picture is not None or kind in ("filters",))

        def show(kind: str) -> Callable[[], bool]:
            view().show_kind(kind)
            return is_drawn(kind)

        def open_them() -> Callable[[], bool]:
            self.show("pictures")
            return is_drawn("")

        def pick() -> Callable[[], bool]:
            view().drawing.pick_within(QRectF(view().drawing.viewport().rect()))
            return lambda: not view().show_them.isHidden()

        yield "pictures: open", open_them
        for kind in sorted(KINDS.keys() - {"rounds"}):  # which this run has none of
            yield f"pictures: {kind}", lambda kind=kind: show(kind)
        yield "pictures: back to score and coverage", lambda: show("score-coverage")
        yield "pictures: point at a place", lambda: point_at(view().drawing)
        yield "pictures: select all in the table", pick
        yield "pictures: show them in the table", lambda: self.show("hits")
        yield "pictures: back", lambda: self.show("pictures")
        yield "pictures: larger window", lambda: self.window.resize(1700, 1000)
        yield "pictures: smaller window", lambda: self.window.resize(1280, 800)
        yield "pictures: theme", self.dress
        yield "pictures: another query", lambda: self.page.run.set_profile(1)
        yield "pictures: first query", lambda: self.page.run.set_profile(0)

    def overview(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of the table of queries and the heat map."""

        def view() -> Any:
            return self.page.part_widgets["overview"].content

        def open_it() -> Callable[[], bool]:
            self.show("overview")
            return lambda: view() is not None and view().content is not None

        yield "overview: open", open_it
        yield "overview: filter queries", lambda: self.page.queries.field.setText("made")
        yield "overview: all queries", lambda: self.page.queries.field.clear()
        yield "overview: zoom the map", lambda: self.through((4, 4, 4, 0.3, 8, 8), view().map.zoom)
        yield "overview: fit the map", lambda: view().map.fit()
        yield "overview: point at the map", lambda: point_at(view().map)
        yield "overview: theme", self.dress
        yield "overview: leave and come back", lambda: self.through(("hits", "overview"), self.show)

    def domains(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of the architectures."""

        def view() -> Any:
            return self.page.part_widgets["domains"].content

        def open_it() -> Callable[[], bool]:
            self.show("domains")
            return lambda: view() is not None and view().content is not None

        def scroll() -> Callable[[], bool]:
            bar = view().canvas.verticalScrollBar()
            return self.through(np.linspace(0, 1, 20), lambda share: bar.setValue(round(float(share) * bar.maximum())))

        yield "domains: open", open_it
        yield "domains: scroll", scroll
        yield "domains: choose an architecture", lambda: view().table.selectRow(1)
        yield "domains: filter", lambda: view().filter_box.setText("many_1")
        yield "domains: no filter", lambda: view().filter_box.clear()
        yield "domains: other rule", lambda: view()._change_request(rule="all")
        yield "domains: theme", self.dress
        yield "domains: leave and come back", lambda: self.through(("hits", "domains"), self.show)

    def aligned(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps of the alignment of the hits."""

        def view() -> Any:
            return self.page.part_widgets["aligned"].content

        def is_there() -> bool:
            return view() is not None and view().panel is not None and view().panel.view.is_measured

        def open_it() -> Callable[[], bool]:
            self.show("aligned")
            return is_there

        def sort(key: str) -> Callable[[], bool]:
            view().panel.view.sort(key)
            return lambda: view().panel.view.is_idle

        def find() -> None:
            panel = view().panel
            panel.field.setText("KVL")
            panel.start_finding()
            QTest.keyClick(panel.field, Qt.Key.Key_Return)

        def through() -> Callable[[], bool]:
            canvas = view().panel.canvas
            return self.through(np.linspace(0, 1, 20), lambda share: canvas.show_middle(float(share), float(share)))

        def zoom() -> Callable[[], bool]:
            held, canvas = Qt.KeyboardModifier.ControlModifier, view().panel.canvas
            return self.through((Qt.Key.Key_Minus,) * 6 + (Qt.Key.Key_Down,) * 6 + (Qt.Key.Key_0,),
                                lambda key: QTest.keyClick(canvas, key, held))  # fmt: skip

        yield "aligned: open", open_it
        yield "aligned: scroll", through
        yield "aligned: zoom", zoom
        yield "aligned: fit", lambda: view().panel.fit()
        yield "aligned: color by identity", lambda: view().panel.choose_scheme("identity")
        for key in ("identity", "name", "Species", "Score (bits)"):
            yield f"aligned: sort by {key}", lambda key=key: sort(key)
        yield "aligned: find", find
        yield "aligned: theme", self.dress
        yield "aligned: another query", lambda: self.page.run.set_profile(1)
        yield "aligned: first query", lambda: self.page.run.set_profile(0)


def point_at(area: Any) -> None:
    """Move the pointer to the middle of a scroll area."""
    QTest.mouseMove(area.viewport() if hasattr(area, "viewport") else area, area.rect().center())


def wait(is_done: Callable[[], bool]) -> None:
    """Let the window work until something is done."""
    end = time.perf_counter() + PATIENCE_SECONDS
    while not is_done():
        QCoreApplication.processEvents()
        time.sleep(0.0005)
        if time.perf_counter() > end:
            raise TimeoutError
    pump(0.1)  # what comes in turns of its own


def pump(seconds: float) -> None:
    """Let the window work for some time."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        QCoreApplication.processEvents()
        time.sleep(0.0005)


def take_step(tour: Tour, heart: Heart, begin: Step) -> dict[str, Any]:
    """Take a step to its end; return what was measured."""
    heart.begin()
    began, used = time.perf_counter(), time.thread_time()
    begun: list[Any] = []
    QTimer.singleShot(0, lambda: begun.append(begin()))
    wait(lambda: bool(begun))
    is_done = begun[0] if callable(begun[0]) else lambda: True
    wait(is_done)
    wait(tour.is_idle)
    pump(0.17)  # a timer of a field that is typed in
    wait(lambda: is_done() and tour.is_idle())
    heart._beat()
    return {"stall": round(heart.stall, 3), "busy": round(heart.busy, 3), "cpu": round(time.thread_time() - used, 3),
            "whole": round(time.perf_counter() - began - 0.5, 2)}  # fmt: skip


def walk(window: MainWindow, path: Path, is_rows: bool, only: str) -> dict[str, Any]:
    """Take the steps through a run whose names begin with some letters; return what was measured of each."""
    tour, heart, found = Tour(window, path), Heart(), dict[str, Any]()
    wait(tour.is_idle)
    for name, begin in tour.steps_of_rows() if is_rows else tour.steps():
        if not name.startswith(("open", "aligned: open the run", only or name)):
            continue
        try:
            found[name] = take_step(tour, heart, begin)
        except Exception as error:
            found[name] = {"error": repr(error)}
        print(f"{name:45} {found[name]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hits", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--folder", type=Path, help="where the runs are kept, in place of a folder that is deleted")
    parser.add_argument("--only", default="", help="only steps whose names begin so, and opening")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    application = make_application(sys.argv[:1])
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "config", Path(folder) / "data")
        settings.change(theme="light")
        theme.apply("light")
        window = MainWindow(settings, default_worker())
        window.resize(1280, 800)
        window.show()
        warm = importlib.import_module(
            "clalign.ui.views.results.results_page"
        )  # as `open_window` does soon after the start
        assert warm
        for name, n_hits in (("hits", options.hits), ("rows", 2 * options.rows)):
            path = (options.folder or Path(folder)) / f"{name}{n_hits}.clalign"
            if not path.exists():
                make_run(path, n_hits)
            if options.only in ("", "aligned") if name == "rows" else options.only != "aligned":
                found |= walk(window, path, name == "rows", options.only)
        window.close()
    system = {"system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}
    text = json.dumps({**system, "hits": options.hits, "rows": options.rows, "steps": found}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)
    del application


if __name__ == "__main__":
    main()
