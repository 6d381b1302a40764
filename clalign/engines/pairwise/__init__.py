"""Smith-Waterman searches of sequences against sequences, and alignments of given pairs."""

from clalign.engines.engine import Engine

ENGINE = Engine(
    name="pairwise",
    job="pairwise",
    commands={"sw": "search sequences against sequences (Smith-Waterman), or align pairs"},
    score_of_option="raw",
    title="Compare {} with {}",
    at={
        "commands": "clalign.engines.pairwise.commands:COMMANDS",
        "spec": "clalign.engines.pairwise.spec:PairwiseSpec",
        "load": "clalign.engines.pairwise.search:PairwiseWork.loaded",
        "runs": "clalign.engines.pairwise.tables:RUNS",
        "tables": "clalign.engines.pairwise.columns:TABLES",
        "source": "clalign.engines.pairwise.export:PairSource",
        "exports": "clalign.engines.pairwise.exports:EXPORTS",
        "methods": "clalign.engines.pairwise.methods:methods",
        "scores_of_all": "clalign.engines.pairwise.scores_of_all:scores_of_all",
        "verify": "clalign.engines.pairwise.verify:verify_pairwise",
        "explain": "clalign.engines.pairwise.explain:explain_pair",
        "explanation_lines": "clalign.engines.pairwise.report_text:explanation_lines",
        "remarks": "clalign.engines.pairwise.export:cut_lists",
    },
)
