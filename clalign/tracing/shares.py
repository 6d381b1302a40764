"""Where the time of a run went, each moment counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clalign.tracing import Span, Track

Stretch = tuple[int, int]
"""Begin and end in nanoseconds."""

KERNELS = "kernels"

ORDER = ("building", "reading", "preparing", "hits", "storing", "writing", "launching", "copying", "waiting", "start")
"""Categories of the host: while no device computes, time counts for the first of these that is going on."""

WORDS = {"building": "building kernels"}

OTHER = "other"


def shares(tracks: Mapping[Track, Sequence[Span]]) -> dict[str, float]:
    """Return the seconds of each kind of work, whose sum is the time from the first span to the last.

    Time in which a device computes counts for its kernels, those of a card before those of the processor that helps
    it; only the rest counts for the host.

    Parameters
    ----------
    tracks : mapping of Track to sequence of Span
        Spans of a thread are nested or disjoint.
    """
    stretches: dict[str, list[Stretch]] = {}
    kernels: dict[str, list[Stretch]] = {}
    for track, spans in sorted(tracks.items(), key=lambda item: item[0].kind == "cpu"):
        for category, begin, end in innermost(spans):
            if category == KERNELS:
                kernels.setdefault(track.owner, []).append((begin, end))
            else:
                stretches.setdefault(category, []).append((begin, end))
    names = [KERNELS] if len(kernels) < 2 else [f"{KERNELS} on {owner}" for owner in kernels]
    found, covered, so_far = {}, [(0, 0)], 0
    for name, some in (
        *zip(names, kernels.values(), strict=False),
        *((name, stretches.get(name, [])) for name in ORDER),
    ):
        covered = joined([*covered, *some])
        length = sum(end - begin for begin, end in covered)
        found[name], so_far = (length - so_far) * 1e-9, length
    every = [span for spans in tracks.values() for span in spans]
    total = max((span.end for span in every), default=0) - min((span.begin for span in every), default=0)
    return {**found, OTHER: (total - so_far) * 1e-9}


def innermost(spans: Iterable[Span]) -> list[tuple[str, int, int]]:
    """Return the stretches of a thread, each with the category of the innermost span that has one."""
    found: list[tuple[str, int, int]] = []
    open_spans: list[tuple[str, int]] = []  # the category in force and where it ends
    at = 0

    def close_until(until: int) -> None:
        """Close the spans that end by then, and advance to that time."""
        while open_spans and open_spans[-1][1] <= until:
            advance_to(open_spans[-1][1])
            open_spans.pop()
        advance_to(until)

    def advance_to(until: int) -> None:
        nonlocal at
        if open_spans and open_spans[-1][0] and until > at:
            found.append((open_spans[-1][0], at, until))
        at = max(at, until)

    last = 0
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        close_until(span.begin)
        above = open_spans[-1][0] if open_spans else ""
        open_spans.append((span.category or above, span.end))
        last = max(last, span.end)
    close_until(last)
    return found


def joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return disjoint stretches of time that cover the same as the given ones."""
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def sentence(seconds: Mapping[str, float]) -> str:
    """Return a line about where the time went, as in ``8.31 s: kernels 2.10, start 0.62, other 0.11.``"""
    parts = [f"{WORDS.get(name, name)} {value:.2f}" for name, value in seconds.items() if value >= 0.005]
    return f"{sum(seconds.values()):.2f} s: {', '.join(parts)}."
