"""A toy engine: how often a motif occurs in every sequence."""

from clalign.engines.engine import Engine, EngineParts
from clalign.engines.lazy_imports import LazyImport

ENGINE = Engine(
    name="motif",
    job="motif",
    commands={"motif": "count a motif in every sequence"},
    query="motif",
    queries="motifs",
    parts=EngineParts(
        commands=LazyImport("motif_engine.counting:COMMANDS"),
        spec=LazyImport("motif_engine.counting:MotifSpec"),
        load=LazyImport("motif_engine.counting:MotifWork.loaded"),
        runs=LazyImport("motif_engine.counting:RUNS"),
        source=LazyImport("motif_engine.counting:MotifSource"),
        exports=LazyImport("motif_engine.counting:EXPORTS"),
    ),
)
