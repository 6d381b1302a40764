"""Pictures of the hits of a run, for every engine: numbers, and shapes that window, command line and report draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from clalign.engines.engine import engine_of, spec_of
from clalign.engines.pictures.by_round import ByRound
from clalign.engines.pictures.coverage import Coverage
from clalign.engines.pictures.identity import Identities
from clalign.engines.pictures.numbers import HitNumbers, read_numbers
from clalign.engines.pictures.picture import HitPicture
from clalign.engines.pictures.points import Points
from clalign.engines.pictures.quantiles import Quantiles
from clalign.engines.pictures.scores import ScoreHistogram
from clalign.engines.pictures.species import SpeciesSummary
from clalign.engines.pictures.stages import Stages
from clalign.errors import OptionError, command_for
from clalign.formats.tables import plain
from clalign.formats.taxonomy import species_rule
from clalign.formats.writers import replaced_file
from clalign.jobs import JobContext, QuietContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile, open_run

__all__ = [
    "KINDS",
    "HitPicture",
    "PictureRequest",
    "check_has_hits",
    "picture_of",
    "read_picture",
    "write_numbers",
    "write_rows",
]


NO_HITS = "Draw a run of hmmsearch, hmmscan or sw; one that has just begun is drawn a little later."


class PictureRequest(Struct, frozen=True):
    """Which picture is wanted.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    query : int or None
        The number of a query; None for all.
    taxonomy : str
        The table that species are looked up in; empty for none.
    column : str
        Which of its columns: its name, or its number counted from 1; empty for the second.
    """

    kind: str
    query: int | None = None
    taxonomy: str = ""
    column: str = ""


class Kind(Struct, frozen=True):
    """A kind of picture.

    Attributes
    ----------
    words, meaning : str
        What it is called, and what it shows, as a sentence without a full stop.
    make : callable
        Returns it of numbers, given what was asked.
    of_one : bool
        Whether it is of one query at a time.
    needs_hits : bool
        Whether there is nothing to be seen without hits.
    """

    words: str
    meaning: str
    make: Callable[[HitNumbers, PictureRequest], HitPicture]
    of_one: bool = False
    needs_hits: bool = True


def _coverage_points(numbers: HitNumbers, _: PictureRequest) -> HitPicture:
    return Points(numbers, numbers.hits.query_coverage, f"coverage of the {numbers.noun}", "%", False)


def _length_points(numbers: HitNumbers, _: PictureRequest) -> HitPicture:
    lengths = numbers.hits.lengths.astype(float)
    return Points(numbers, lengths, f"length of the {numbers.target}", "residues", True)


def _species(numbers: HitNumbers, request: PictureRequest) -> HitPicture:
    rule = species_rule(request.taxonomy, request.column)
    return SpeciesSummary(numbers, rule.taxonomy, rule.column)


KINDS: Mapping[str, Kind] = {
    "coverage": Kind("Coverage", "The query on top and its hits below, colored by score",
                     lambda n, _: Coverage(n), True),
    "score-coverage": Kind("Score and coverage", "Score of each hit against the share of the query that is aligned",
                           _coverage_points),
    "score-length": Kind("Score and length", "Score of each hit against the length of the target", _length_points),
    "identity": Kind("Identity", "How many hits are how alike", lambda n, _: Identities(n)),
    "qq": Kind("Q–Q plot", "Observed numbers of targets against those that E-values expect", lambda n, _: Quantiles(n)),
    "scores": Kind("Scores of all", "How many targets have which score, hits or not, beside what chance would give",
                   lambda n, _: ScoreHistogram(n), True, False),
    "filters": Kind("Filters", "How many targets pass each stage of the search", lambda n, _: Stages(n),
                    True, False),
    "rounds": Kind("Rounds", "How many hits each round has, and how many are significant, new and lost",
                   lambda n, _: ByRound(n), needs_hits=False),
    "species": Kind("Species", "Hits by species, from OS= or OX= in descriptions or a table of taxonomy", _species),
}  # fmt: skip
"""The pictures by their names."""


def check_has_hits(run: RunFile) -> None:
    """Refuse to draw a run that has no hits, as its engine finds none or has just begun.

    Raises
    ------
    OptionError
    """
    command = spec_of(run).command
    if not engine_of(run).finds_hits:
        raise OptionError(
            f"{run.path} was made by `clalign {command}`, which finds no hits: the pictures are of hits.",
            f"Look at it in the window ({command_for('gui', run.path)}), or write what it has:"
            f" {command_for('export', run.path)}",
        )
    if not run.n_queries():
        raise OptionError(f"This run of `clalign {command}` has no hits to be drawn.", NO_HITS)


def picture_of(
    run: RunFile, request: PictureRequest, numbers: HitNumbers | None = None, context: JobContext | None = None
) -> HitPicture:
    """Return a picture of the hits of an open run.

    Parameters
    ----------
    run : RunFile
    request : Asked
    numbers : HitNumbers, optional
        The hits, where they were read already, of the query that is asked for; by default all are read.
    context : JobContext, optional
        May stop it.

    Raises
    ------
    OptionError
        If there is no such kind, the run has no hits, or it is of one query and the run has several.
    InputError
        If the table of taxonomy makes no sense.
    """
    kind = KINDS.get(request.kind)
    if kind is None:
        raise OptionError(f'There is no picture "{request.kind}".', f"Choose one of {', '.join(KINDS)}.")
    check_has_hits(run)
    if numbers is None:
        numbers = read_numbers(run, HitQueries(run.connection), request.query, context or QuietContext())
    if kind.of_one and numbers.query is None:
        program, n = spec_of(run).command, numbers.n_queries
        raise OptionError(
            f"This picture is of one {numbers.noun}, and the run of `clalign {program}` has {n:,}.",
            f"Name one of the {numbers.nouns}.",
        )
    return kind.make(numbers, request)


def read_picture(path: str | Path, request: PictureRequest, context: JobContext | None = None) -> HitPicture:
    """Return a picture of the hits of a run; see `picture_of`."""
    with open_run(Path(path)) as run:
        return picture_of(run, request, None, context)


def write_rows(picture: HitPicture, path: str | Path) -> None:
    """Write the numbers behind a picture as a table with tabs; its run must still be open."""
    with replaced_file(path) as file:
        file.write("\t".join(picture.heads) + "\n")
        for row in picture.rows():
            file.write("\t".join(plain(str(cell)) for cell in row) + "\n")


def write_numbers(path: str | Path, request: PictureRequest, output: str | Path) -> None:
    """Write the numbers behind a picture of a run."""
    with open_run(Path(path)) as run:
        write_rows(picture_of(run, request), output)
