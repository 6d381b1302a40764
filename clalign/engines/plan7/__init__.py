"""Searches and scans with profile HMMs of HMMER2 and HMMER3."""

from clalign.engines.engine import Engine, EngineParts
from clalign.engines.lazy_imports import LazyImport

ENGINE = Engine(
    name="plan7",
    job="search",
    commands={
        "hmmsearch": "search profile HMMs against sequences",
        "hmmscan": "find the profiles of a library that match each sequence",
        "phmmer": "search protein sequences against protein sequences, each by a profile of its own",
        "jackhmmer": "search protein sequences against protein sequences in rounds, with profiles of what is found",
    },
    query="profile",
    queries="profiles",
    calls_significant=True,
    uses_device_processes=True,
    title="Search {} in {}",
    parts=EngineParts(
        commands=LazyImport("clalign.engines.plan7.commands:COMMANDS"),
        spec=LazyImport("clalign.engines.plan7.spec:SearchSpec"),
        load=LazyImport("clalign.engines.plan7.profile_search:ProfileWork.loaded"),
        runs=LazyImport("clalign.engines.plan7.tables:RUNS"),
        tables=LazyImport("clalign.engines.plan7.columns:TABLES"),
        source=LazyImport("clalign.engines.plan7.exports.rows:ProfileTableSource"),
        exports=LazyImport("clalign.engines.plan7.exports.register:EXPORTS"),
        methods=LazyImport("clalign.engines.plan7.methods:methods"),
        scores_of_all=LazyImport("clalign.engines.plan7.scores_of_all:scores_of_all"),
        stages=LazyImport("clalign.engines.plan7.hmmer3.funnel:funnel_of"),
        verify=LazyImport("clalign.engines.plan7.verify:verify_run"),
        explain=LazyImport("clalign.engines.plan7.explain:explain_run"),
        explain_files=LazyImport("clalign.engines.plan7.explain:explain"),
        self_test=LazyImport("clalign.engines.plan7.self_test:self_test"),
        round=LazyImport("clalign.engines.plan7.round_of_run:RoundOfRun"),
        one_more=LazyImport("clalign.engines.plan7.rounds:one_more"),
        explanation_lines=LazyImport("clalign.engines.plan7.explanation_text:explanation_lines"),
    ),
)
