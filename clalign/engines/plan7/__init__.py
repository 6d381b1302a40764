"""Searches and scans with profile HMMs of HMMER2 and HMMER3."""

from clalign.engines.engine import Engine

ENGINE = Engine(
    name="plan7",
    job="search",
    commands={
        "hmmsearch": "search profile HMMs against sequences",
        "hmmscan": "find the profiles of a library that match each sequence",
    },
    query="profile",
    queries="profiles",
    judges=True,
    computes_apart=True,
    title="Search {} in {}",
    at={
        "commands": "clalign.engines.plan7.commands:COMMANDS",
        "spec": "clalign.engines.plan7.spec:SearchSpec",
        "load": "clalign.engines.plan7.profile_search:ProfileWork.loaded",
        "runs": "clalign.engines.plan7.tables:RUNS",
        "tables": "clalign.engines.plan7.columns:TABLES",
        "source": "clalign.engines.plan7.exports.rows:Source",
        "exports": "clalign.engines.plan7.exports.register:EXPORTS",
        "methods": "clalign.engines.plan7.methods:methods",
        "scores_of_all": "clalign.engines.plan7.scores_of_all:scores_of_all",
        "stages": "clalign.engines.plan7.hmmer3.funnel:funnel_of",
        "verify": "clalign.engines.plan7.verify:verify_run",
        "explain": "clalign.engines.plan7.explain:explain_run",
        "explain_files": "clalign.engines.plan7.explain:explain",
        "self_test": "clalign.engines.plan7.self_test:self_test",
        "explanation_lines": "clalign.engines.plan7.explanation_text:explanation_lines",
    },
)
