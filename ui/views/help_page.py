"""The help: documents, or search results, at the left; the text at the right."""

from __future__ import annotations

import posixpath

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QResizeEvent, QTextDocument
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QTextBrowser, QWidget

from ..models.help_pages import HelpPages, Section
from .widgets.parts import back_button, held, label, row, split, stacked, title_label

DOCUMENT_ROLE = Qt.ItemDataRole.UserRole + 1

LIST_WIDTH = 230

MAX_LINE_WIDTH = 880
"""Pixels: longer lines are hard to read."""


class Document(QTextBrowser):
    """Text with lines of limited length in a window of any width."""

    def __init__(self) -> None:
        super().__init__()
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.setLineWrapColumnOrWidth(min(self.viewport().width(), MAX_LINE_WIDTH))
        super().resizeEvent(event)


class HelpPage(QWidget):
    """Shows and searches the documents."""

    back_requested = Signal()

    def __init__(self, pages: HelpPages) -> None:
        super().__init__()
        self.pages = pages
        self.document = ""
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search the help")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search the help")
        self.search.textChanged.connect(lambda _: self.show_list())
        self.list = QListWidget()
        self.list.setProperty("role", "dock")
        self.list.setWordWrap(True)
        self.list.setSpacing(3)
        self.list.setAccessibleName("Documents")
        self.search.returnPressed.connect(lambda: self.list.setCurrentRow(0))
        self.list.currentItemChanged.connect(lambda item: self._open(item) if item is not None else None)
        self.text = Document()
        self.text.setOpenLinks(False)
        self.text.setAccessibleName("Help")
        self.text.document().setDocumentMargin(18)
        self.text.anchorClicked.connect(self._follow)
        self._none = label("Nothing was found. Try fewer or other words.", "muted", wrap=True)
        self._none.setContentsMargins(12, 4, 12, 4)
        left = held(stacked(self._none, (self.list, 1), spacing=0))
        left.setMinimumWidth(150)
        both = split(left, self.text, shares=(0, 1), sizes=(LIST_WIDTH, 700), orientation=Qt.Orientation.Horizontal)
        back = back_button(self.back_requested.emit)
        head = row(back, (title_label("Help"), 1), (self.search, 1), margins=(12, 8, 12, 6))
        self.setLayout(stacked(head, (both, 1), spacing=0))
        self.setFocusProxy(self.search)
        self.show_list()
        self.open_document(next(iter(pages.documents), ""))

    def show_list(self) -> None:
        """List the documents, or the sections that match the search."""
        words = self.search.text().strip()
        found = self.pages.find(words)
        self.list.blockSignals(True)
        self.list.clear()
        if words:
            for part in found:
                name = part.heading if part.heading == part.title else f"{part.heading} – {part.title}"
                self._add(f"{name}\n{part.snippet(words.lower().split())}", part)
        else:
            first = [part for part in self.pages.sections if part.place == 0]
            titles = [part.title for part in first]
            for part in first:
                is_one = titles.count(part.title) == 1
                self._add(part.title if is_one else f"{part.title} ({part.document.split('/')[-2]})", part)
        self.list.blockSignals(False)
        self._none.setVisible(bool(words) and not found)
        self._show_open()

    def _show_open(self) -> None:
        """Select the document in view; search results are selected only by the user."""
        if self.search.text().strip():
            return
        documents = [self.list.item(row).data(DOCUMENT_ROLE).document for row in range(self.list.count())]
        self.list.blockSignals(True)
        self.list.setCurrentRow(documents.index(self.document) if self.document in documents else -1)
        self.list.blockSignals(False)

    def _add(self, text: str, part: Section) -> None:
        item = QListWidgetItem(text)
        item.setData(DOCUMENT_ROLE, part)
        self.list.addItem(item)

    def _open(self, item: QListWidgetItem) -> None:
        part: Section = item.data(DOCUMENT_ROLE)
        self.open_document(part.document, part.place)
        words = self.search.text().split()
        if words:
            self._mark(words[0])

    def open_document(self, name: str, place: int = 0) -> None:
        """Show a document, at a heading if one is given."""
        if name not in self.pages.documents:
            return
        if name != self.document:
            self.document = name
            self.text.document().setMarkdown(
                self.pages.documents[name], QTextDocument.MarkdownFeature.MarkdownDialectGitHub
            )
        blocks = map(self.text.document().findBlockByNumber, range(self.text.document().blockCount()))
        headings = [block for block in blocks if block.blockFormat().headingLevel() in (1, 2, 3)]
        if place and place < len(headings):
            top = self.text.document().documentLayout().blockBoundingRect(headings[place]).top()
            self.text.verticalScrollBar().setValue(round(top))
        else:
            self.text.verticalScrollBar().setValue(0)
        self._show_open()

    def _mark(self, word: str) -> None:
        """Select a word after the visible place."""
        top = self.text.cursorForPosition(self.text.viewport().rect().topLeft())
        cursor = self.text.document().find(word, top)
        if not cursor.isNull():
            self.text.setTextCursor(cursor)

    def _follow(self, link: QUrl) -> None:
        """Show another document, or a page of the web in the browser."""
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        else:
            self.open_document(posixpath.normpath(posixpath.join(self.document, "..", link.path())).removesuffix(".md"))
