"""A toy engine: how often a motif occurs in every sequence."""

from clalign.engines.engine import Engine

ENGINE = Engine(
    name="motif",
    job="motif",
    commands={"motif": "count a motif in every sequence"},
    query="motif",
    queries="motifs",
    at={
        "commands": "motif_engine.counting:COMMANDS",
        "spec": "motif_engine.counting:MotifSpec",
        "load": "motif_engine.counting:MotifWork.loaded",
        "runs": "motif_engine.counting:RUNS",
        "source": "motif_engine.counting:MotifSource",
        "exports": "motif_engine.counting:EXPORTS",
    },
)
