"""Statistical alignment of many sequences by the posteriors of all pairs (FSA)."""

from clalign.engines.engine import Engine

ENGINE = Engine(
    name="msa",
    job="align",
    commands={"align": "align many sequences with each other (FSA)"},
    query="sequence",
    queries="sequences",
    title="Align {}",
    did="Aligned",
    has_parts=False,
    finds_hits=False,
    at={
        "commands": "clalign.engines.msa.commands:COMMANDS",
        "spec": "clalign.engines.msa.spec:AlignmentSpec",
        "load": "clalign.engines.msa.work:AlignmentWork.loaded",
        "runs": "clalign.engines.msa.tables:RUNS",
        "source": "clalign.engines.msa.export:AlignmentSource",
        "exports": "clalign.engines.msa.exports:EXPORTS",
        "verify": "clalign.engines.msa.recompute:verify_alignment",
        "explain": "clalign.engines.msa.recompute:explain_pair",
        "explanation_lines": "clalign.engines.msa.recompute:explanation_lines",
        "choices": "clalign.engines.msa.recompute:names_of",
        "begin_again": "clalign.engines.msa.recompute_annealing:begin_again",
        "change_choice": "clalign.engines.msa.changing:ChangeChoice",
        "add": "clalign.engines.msa.changing_files:add_sequences",
        "realign": "clalign.engines.msa.changing_files:realign_columns",
    },
)
