"""What a search or a scan with profiles does, as it may stand in a paper."""

from __future__ import annotations

from clalign.engines.plan7.spec import SearchSpec
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile


def methods(run: RunFile) -> str:
    """Return the procedure of a run in a few sentences."""
    spec, origins = run.spec(SearchSpec), HitQueries(run.connection).origins()
    found = "profiles" if spec.direction == "scan" else "sequences"
    parts = []
    if "hmmer3" in origins:
        filters = "without filters" if spec.without_filters else "with filters of SSV, MSV, Viterbi and Forward scores"
        parts.append(f"Profiles of HMMER3 were searched as by HMMER 3.3.2, {filters}.")
    if "hmmer2" in origins:
        parts.append("Profiles of HMMER2 were searched with Viterbi scores as by HMMER 2.3.2.")
    if spec.cutoff != "none":
        words = {"ga": "gathering", "tc": "trusted", "nc": "noise"}[spec.cutoff]
        return " ".join(
            [*parts, f"Hits were reported and called significant from the {words} cutoffs of the profiles on."]
        )
    limit = f"with an E-value of at most {spec.evalue:g}" if spec.score is None else f"from {spec.score:g} bits on"
    size = run.fact("n_targets") or 0
    parts.append(f"Hits were reported {limit}; E-values are for a database of {size:,.0f} {found}.")
    if spec.inclusion_score is None:
        parts.append(f"Hits with an E-value of at most {spec.inclusion_evalue:g} are called significant.")
    else:
        parts.append(f"Hits from {spec.inclusion_score:g} bits on are called significant.")
    return " ".join(parts)
