"""Smith-Waterman searches of sequences against sequences, and alignments of given pairs."""

from clalign.engines.engine import Engine, EngineParts
from clalign.engines.lazy_imports import LazyImport

ENGINE = Engine(
    name="pairwise",
    job="pairwise",
    commands={"sw": "search sequences against sequences (Smith-Waterman), or align pairs"},
    score_of_option="raw",
    title="Compare {} with {}",
    parts=EngineParts(
        commands=LazyImport("clalign.engines.pairwise.commands:COMMANDS"),
        spec=LazyImport("clalign.engines.pairwise.spec:PairwiseSpec"),
        load=LazyImport("clalign.engines.pairwise.search:PairwiseWork.loaded"),
        runs=LazyImport("clalign.engines.pairwise.tables:RUNS"),
        tables=LazyImport("clalign.engines.pairwise.columns:TABLES"),
        source=LazyImport("clalign.engines.pairwise.export:PairSource"),
        exports=LazyImport("clalign.engines.pairwise.exports:EXPORTS"),
        methods=LazyImport("clalign.engines.pairwise.methods:methods"),
        scores_of_all=LazyImport("clalign.engines.pairwise.scores_of_all:scores_of_all"),
        verify=LazyImport("clalign.engines.pairwise.verify:verify_pairwise"),
        explain=LazyImport("clalign.engines.pairwise.explain:explain_pair"),
        explanation_lines=LazyImport("clalign.engines.pairwise.report_text:explanation_lines"),
        remarks=LazyImport("clalign.engines.pairwise.export:cut_lists"),
    ),
)
