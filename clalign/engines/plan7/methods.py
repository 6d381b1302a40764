"""What a search or a scan with profiles does, as it may stand in a paper."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.engines.plan7.hmmer3.thresholds import DOMAIN_EVALUE
from clalign.engines.plan7.spec import SearchSpec
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile


def methods(run: RunFile) -> str:
    """Return the procedure of a run in a few sentences."""
    spec, origins = run.spec(SearchSpec), HitQueries(run.connection).origins()
    found = "profiles" if spec.is_scan else "sequences"
    parts = []
    if "hmmer3" in origins:
        parts.append(f"Profiles of HMMER3 were searched as by HMMER 3.3.2, {_filters(spec)}.")
    if "hmmer2" in origins:
        parts.append("Profiles of HMMER2 were searched with Viterbi scores as by HMMER 2.3.2.")
    if spec.has_rounds:
        cards = run.cards()
        n_taken, n_dropped = (sum(len(card.get(key) or ()) for card in cards) for key in ("taken", "dropped"))
        by_hand = f"; {n_taken:,} hits were taken into it by hand, {n_dropped:,} dropped" * bool(n_taken + n_dropped)
        parts.append(f"Significant domains of a round made the profile of the next one{by_hand}.")
    if spec.without_null2:
        parts.append("Scores were not corrected for biased composition (null2).")
    size = run.facts.n_targets or 0
    sizes = f"E-values are for a database of {size:,.0f} {found}"
    if spec.n_domain_targets is not None:
        sizes += f", those of domains for one of {spec.n_domain_targets:,.0f}"
    if spec.cutoff != "none":
        words = {"ga": "gathering", "tc": "trusted", "nc": "noise"}[spec.cutoff]
        parts.append(f"Hits were reported and called significant from the {words} cutoffs of the profiles on; {sizes}.")
        return " ".join(parts)
    return " ".join([*parts, *_thresholds(spec, origins == {"hmmer2"}, sizes)])


def _filters(spec: SearchSpec) -> str:
    if spec.without_filters:
        return "without filters"
    bias = ", without the filter for biased composition" if spec.without_bias_filter else ""
    limits = f"P-values of at most {spec.f1:g}, {spec.f2:g} and {spec.f3:g}"
    return f"with filters of SSV and MSV, Viterbi and Forward scores ({limits}){bias}"


def _thresholds(spec: SearchSpec, is_hmmer2: bool, sizes: str) -> Iterator[str]:
    """Yield the sentences on what was reported, and what is called significant."""
    kind, usual = ("an E-value", None) if is_hmmer2 else ("a conditional E-value", DOMAIN_EVALUE)
    domain_evalue = usual if spec.domain_evalue is None else spec.domain_evalue
    # Of what HMMER2 reports E-value and score both count, else a score takes the place of the E-value.
    domains = _limit(domain_evalue, spec.domain_score, kind, is_hmmer2)
    among = f", of their domains those with {domains}" if domains else ""
    yield f"Hits were reported with {_limit(spec.evalue, spec.score, both=is_hmmer2)}{among}; {sizes}."
    yield (
        f"Hits with {_limit(spec.inclusion_evalue, spec.inclusion_score)} are called significant, of their domains"
        f" those with {_limit(spec.inclusion_domain_evalue, spec.inclusion_domain_score, kind)}."
    )


def _limit(evalue: float | None, score: float | None, kind: str = "an E-value", both: bool = False) -> str:
    words = [f"{kind} of at most {evalue:g}"] if evalue is not None and (both or score is None) else []
    words += [f"a score of at least {score:g} bits"] if score is not None else []
    return " and ".join(words)
