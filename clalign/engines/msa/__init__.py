"""Statistical alignment of many sequences by the posteriors of all pairs (FSA)."""

from clalign.engines.engine import AlignmentChanges, Engine, EngineParts
from clalign.engines.lazy_imports import LazyImport

ENGINE = Engine(
    name="msa",
    job="align",
    commands={"align": "align many sequences with each other (FSA)"},
    query="sequence",
    queries="sequences",
    title="Align {}",
    past_verb="Aligned",
    writes_partial_results=False,
    finds_hits=False,
    parts=EngineParts(
        commands=LazyImport("clalign.engines.msa.commands:COMMANDS"),
        spec=LazyImport("clalign.engines.msa.spec:AlignmentSpec"),
        load=LazyImport("clalign.engines.msa.work:AlignmentWork.loaded"),
        runs=LazyImport("clalign.engines.msa.tables:RUNS"),
        source=LazyImport("clalign.engines.msa.export:AlignmentSource"),
        exports=LazyImport("clalign.engines.msa.exports:EXPORTS"),
        verify=LazyImport("clalign.engines.msa.recompute:verify_alignment"),
        explain=LazyImport("clalign.engines.msa.recompute:explain_pair"),
        explanation_lines=LazyImport("clalign.engines.msa.recompute:explanation_lines"),
        choices=LazyImport("clalign.engines.msa.recompute:names_of"),
        begin_again=LazyImport("clalign.engines.msa.recompute_annealing:begin_again"),
        changes=AlignmentChanges(
            choice=LazyImport("clalign.engines.msa.changing:ChangeChoice"),
            kinds={
                "add": LazyImport("clalign.engines.msa.changing_files:add_sequences"),
                "realign": LazyImport("clalign.engines.msa.changing_files:realign_columns"),
            },
        ),
    ),
)
