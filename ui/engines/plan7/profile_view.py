"""A profile: its logo, and below it the chosen node."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from clalign.values.documents import Card
from clalign.values.profile_logo import HEIGHT_MODES, HeightMode, ProfileLogo

from ... import formatting
from ...models.results.missing_files import LOCATE_TITLE, can_be_located, without_ways
from ...models.widgets.text_table import ROW_ROLE, TextColumn, TextTable
from ...residue_colors import RESIDUE_SCHEMES
from ...views.results.query_list import NameList
from ...views.widgets.choices import NarrowBox
from ...views.widgets.parts import (
    ElidedLabel,
    EmptyPanel,
    IconButton,
    Surface,
    button,
    fill_box,
    held,
    label,
    one_of,
    row,
    split,
    stacked,
    title_label,
)
from ...views.widgets.sheet import Sheet
from ...views.widgets.text_table_view import TextTableView
from .logo_figure import LogoFigure, beside, logo_figure
from .logo_view import LogoOverview, LogoView
from .node_inspector import NodeInspector
from .profile_nodes import ShownProfile, disfavored_residues

SHORT_MODES: dict[HeightMode, str] = {"information": "Information", "probability": "All letters", "score": "Score"}
"""Short titles of the meanings of the letter height, for a combo box; HEIGHT_MODES explains them."""

MIN_COLUMNS = (
    TextColumn("Node", "Place in the profile", lambda r: formatting.count(r["node"]), True, 70),
    TextColumn("What", "What the model does not expect there", lambda r: r["what"], False, 150, stretch=True),
    TextColumn("Score (bits)", "Logarithm of its odds against the background",
               lambda r: f"{r['bits']:+.1f}".replace("-", "−").replace("inf", "∞"), True, 100),
    TextColumn("Against the best", "How many bits less than the likeliest residue of the node",
               lambda r: f"{-r['cost']:.1f}".replace("-", "−").replace("inf", "∞"), True, 130),
)  # fmt: skip


MAX_LOGO_HEIGHT = 900
"""Pixels."""

MIN_HITS_LOGO = 110
"""Pixels."""

SHARES = 370, 280
"""Pixels of logo and node in a window of usual size, in which the states of a node fit."""


class DisfavoredSheet(Sheet):
    """Lists the residues that cost a sequence most; choosing a row goes to its node."""

    node_chosen = Signal(int)

    def __init__(self, profile: ShownProfile) -> None:
        super().__init__("Least favored residues", 560)
        text = (
            "These residues cost the most bits against the likeliest one of their node. A sequence that has "
            "several of them is probably not a member of the family. Choose a row to see its node."
        )
        self.body.addWidget(label(text, "muted", wrap=True))
        model = TextTable(MIN_COLUMNS, self)
        model.set_rows(disfavored_residues(profile))
        self.table = TextTableView(model, "Least favored residues")
        self.table.setMinimumHeight(360)
        self.table.clicked.connect(self._go)
        self.table.activated.connect(self._go)
        self.body.addWidget(self.table, 1)
        self.foot.addLayout(row(None, button("Close", self.close_sheet)))
        self.setFocusProxy(self.table)

    def _go(self, index: QModelIndex) -> None:
        self.node_chosen.emit(int(index.data(ROW_ROLE)["node"]))
        self.close_sheet()


class ProfileView(Surface):
    """Shows a `ShownProfile`."""

    export_requested = Signal()
    least_requested = Signal(object)
    scheme_chosen = Signal(str)
    node_chosen = Signal(int)
    locate_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.profile: ShownProfile | None = None
        self.wanted: tuple[str, int] = ("", 0)
        self.wanted_hits: tuple[int, int] = (-1, 0)
        self.logo = LogoView()
        self.overview = LogoOverview(self.logo)
        self.inspector = NodeInspector()
        self.locate_button = button(LOCATE_TITLE, self.locate_requested.emit)
        self.locate_button.hide()
        self.empty = EmptyPanel("chart-timeline-variant", "Reading the profile", "", self.locate_button)
        self.whose = ElidedLabel("", "muted")
        self._head = held(row(self.whose, margins=(12, 6, 12, 0)))
        self._head.hide()
        self.hits_logo, self.hits_words = LogoView("Logo of the hits"), ElidedLabel("", "muted")
        self.hits_logo.setMinimumHeight(MIN_HITS_LOGO)
        self.hits_logo.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # it follows the other
        words = row(self.hits_words, margins=(12, 2, 12, 0))
        self._of_hits = held(stacked(words, (self.hits_logo, 1), spacing=0))
        self._of_hits.hide()
        self._hits: tuple[ProfileLogo, str] | None = None
        logos = split(self.logo, self._of_hits, shares=(3, 2), sizes=(240, 150))
        above = held(stacked(self._tools(), self.overview, (logos, 1), spacing=0))
        above.setMaximumHeight(MAX_LOGO_HEIGHT)
        self._stack = one_of(self.empty, split(above, self.inspector, shares=(3, 2), sizes=SHARES))
        self.setLayout(stacked(self._head, (self._stack, 1), spacing=-1))
        self.logo.node_chosen.connect(self._show_node)
        self.logo.view_moved.connect(lambda: self.hits_logo.follow(self.logo))
        self.hits_logo.node_chosen.connect(self.logo.choose)
        self.setFocusProxy(self.logo)

    def _tools(self) -> QHBoxLayout:
        self.modes, self.schemes = NarrowBox(), NarrowBox()
        self.modes.setAccessibleName("Height of the letters")
        self.schemes.setAccessibleName("Residue colors")
        fill_box(self.modes, ((mode, SHORT_MODES[mode], meaning) for mode, meaning in HEIGHT_MODES.items()))
        fill_box(self.schemes, RESIDUE_SCHEMES.items())
        self.modes.setToolTip("What the height of a letter means")
        self.modes.setMinimumContentsLength(10)
        self.schemes.setMinimumContentsLength(13)
        self.modes.activated.connect(lambda: self._draw())
        self.schemes.activated.connect(lambda: self.scheme_chosen.emit(self.schemes.currentData()))
        least, written = "Which residues does this profile favor least?", "Write the logo as SVG, PDF or PNG"
        return row(
            self.modes,
            self.schemes,
            IconButton("magnify-minus-outline", "Narrower nodes (Ctrl+wheel)", lambda: self.logo.zoom(-1)),
            IconButton("magnify-plus-outline", "Wider nodes (Ctrl+wheel)", lambda: self.logo.zoom(1)),
            None,
            IconButton("thumb-down-outline", least, self._request_disfavored, "Least favored…"),
            IconButton("export-variant", written, self.export_requested.emit, "Export…"),
            margins=(12, 8, 12, 4),
        )

    @property
    def mode(self) -> HeightMode:
        """The meaning of the letter heights."""
        chosen: HeightMode = self.modes.currentData()
        return chosen

    @property
    def figure(self) -> LogoFigure | None:
        """The figure in view."""
        return self.logo.figure

    def show_profile(self, profile: ShownProfile) -> None:
        """Show a profile, and choose its first node."""
        same = self.profile is not None and self.profile.hmm is profile.hmm
        if not same:
            self._hits = None  # of another one
        self.profile = profile
        self._stack.setCurrentIndex(1)
        if not same:
            self.logo.node = 0
        self._draw()
        if not same:
            self.logo.choose(1)

    def show_text(self, heading: str, text: str) -> None:
        """Show a text in place of the profile."""
        self.profile = None
        self.logo.show_figure(None)
        self.inspector.show_node(None, 0)
        self.empty.show_text(heading, without_ways(text))
        self.locate_button.setVisible(can_be_located(text))
        self._stack.setCurrentIndex(0)

    def show_profile_name(self, text: str) -> None:
        """Show the name of the profile; an empty text hides it."""
        self.whose.setText(text)
        self._head.setVisible(bool(text))

    def choose_node(self, node: int) -> None:
        """Choose a node, counted from 1."""
        self.logo.choose(node)

    def set_scheme(self, scheme: str) -> None:
        """Color residues by a scheme."""
        self.schemes.setCurrentIndex(max(0, self.schemes.findData(scheme)))
        self.logo.set_scheme(scheme)
        self.hits_logo.set_scheme(scheme)
        self.inspector.set_scheme(scheme)

    def _draw(self) -> None:
        if self.profile is not None:
            figure = logo_figure(self.profile.hmm, self.mode, self.profile.logo)
            if self._hits is not None:
                figure, of_hits = beside(figure, self._hits[0], self.mode, self._hits[1])
                self.hits_logo.show_figure(of_hits)
                self.hits_words.setText(self._hits[1])
            self._of_hits.setVisible(self._hits is not None)
            self.logo.show_figure(figure)

    def show_hits(self, logo: ProfileLogo | None, words: str) -> None:
        """Show the logo of the hits below that of the profile, on the same scale; None hides it."""
        self._hits = (logo, words) if logo is not None and self.profile is not None else None
        self._draw()

    def _show_node(self, node: int) -> None:
        self.inspector.show_node(self.profile, node)
        self.node_chosen.emit(node)

    def _request_disfavored(self) -> None:
        if self.profile is not None:
            self.least_requested.emit(self.profile)


class ProfilePage(QWidget):
    """The profiles of a file, one at a time."""

    profile_requested = Signal(int)

    def __init__(self, title: str, cards: list[Card]) -> None:
        super().__init__()
        self.title = title
        self.view = ProfileView()
        self.profiles = NameList("Profile", "Profiles")
        self.profiles.list_cards(cards)
        self.profiles.setVisible(len(cards) > 1)
        self.profiles.chosen.connect(self.profile_requested)
        self._line = ElidedLabel("", "muted")
        head = stacked(title_label(title), self._line, spacing=2, margins=(12, 8, 8, 6))
        body = split(self.profiles, self.view, shares=(1, 5), sizes=(200, 900), orientation=Qt.Orientation.Horizontal)
        self.setLayout(stacked(head, (body, 1), spacing=0))
        self.setFocusProxy(self.view)
        QTimer.singleShot(0, self.view.logo, self.view.logo.setFocus)

    def show_card(self, number: int, line: str) -> None:
        """Show the name of the profile."""
        self.profiles.mark(number)
        self._line.setText(line)
