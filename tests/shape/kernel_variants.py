"""Values of macros with which kernels are compiled for other vendors, beside the default form of each."""

from clalign.stages.hmmer3.local_tables import IN_GLOBAL
from clalign.stages.hmmer3.ssv_tuning import SsvTuning

TEAMS: tuple[dict[str, object], ...] = (
    {"LANES": 4},
    {"LANES": 32},
    {"LANE_BACKEND": 3},
    {"LANE_BACKEND": 3, IN_GLOBAL: 1},
    {"LANE_BACKEND": 0},
    {"LANE_BACKEND": 0, "LANES": 16},
)
"""Those of kernels in which a team of work-items shares a problem."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "bias_filter_item": ({"BLOCK": 4},),
    "bitonic_sort_item": ({"KEY_BITS": 64}, {"BARRIER_METHOD": 0}, {"BARRIER_METHOD": 3, "TILE_LOG": 9}),
    "decoding_simd4": TEAMS,
    "envelope_simd4": TEAMS,
    "forward_lanes": (
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 50, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TRANSITIONS": 0},
        {"NODES": 1, "LANE_BACKEND": 0},
    ),
    "forward_vector": ({"VECTORS": 8, "SEQUENCES": 1},),
    "long_pair_lanes": (
        {"LANE_BACKEND": 3, "ROWS": 16},
        {"LANE_BACKEND": 3, "ROWS": 8, "FOLLOWING": 1},
        {"LANE_BACKEND": 3, "TRACED": 1, "TRACED_COLUMNS": 128, "LETTERS": 24},
    ),
    "long_pair_vector": ({"LOCAL": 0}, {"TRACED": 1}),
    "memories_item": ({"LOCAL_ROW": 1, "N": 1024},),
    "msv_lanes": (
        {"NODES": 8, "GROUP": 64, "LANE_BACKEND": 3},
        {"NODES": 40, "GROUP": 64, "LANE_BACKEND": 3},
        {"NODES": 1, "GROUP": 32, "LANE_BACKEND": 0},
    ),
    "msv_vector": ({"VECTORS": 4}, {"VECTORS": 30}),
    "pair_hmm_ladder_lanes": (
        {"LOCAL_CELLS": 0, "BY_STATE": 0, "GROUP": 512, "SUM_GROUP": 512},
        {"LOCAL_CELLS": 1, "BY_STATE": 0, "GROUP": 512, "SUM_GROUP": 512},
        {"LOCAL_CELLS": 1, "BY_STATE": 1, "GROUP": 480, "SUM_GROUP": 512},
    ),
    "pair_hmm_lanes": (
        {"SETS": 1, "COUNTS": 1, "LANE_BACKEND": 3},
        {"SETS": 2, "COUNTS": 0, "LANE_BACKEND": 3},
        {"SETS": 2, "COUNTS": 1, "LANE_BACKEND": 0},
    ),
    "pair_hmm_vector": ({"SETS": 1, "COUNTS": 0}, {"SETS": 2, "COUNTS": 1}),
    "peak_item": ({"WIDTH": 4}, {"WIDTH": 16}, {"WIDTH": 4, "FLOATS": 1}),
    "relay_item": (
        {"BARRIER_METHOD": 0},
        {"BARRIER_METHOD": 2},
        {"BARRIER_METHOD": 3},
        {"BARRIER_METHOD": 1, "TIMED": 1},
        {"BARRIER_METHOD": 3, "TIMED": 2},
    ),
    "sampling_simd4": TEAMS,
    "smith_waterman_item": ({"ROWS": 32}, {"GROUP": 64, "ONE_STRIP": 1, "CLASSES": 5}, {"ROWS": 8, "MODE": 3}),
    "smith_waterman_ladder_lanes": (
        {"LOCAL_SCORES": 0, "DEVICE_MAXIMUM": 0},
        {"LOCAL_SCORES": 0, "GROUP": 512},
        {"DEVICE_PATH": 1, "GROUP": 512},
    ),
    "smith_waterman_lanes": (
        {"ROWS": 16, "LANE_BACKEND": 3, "LANES": 32, "GROUP": 128},
        {"ROWS": 28, "LANE_BACKEND": 3, "LANES": 16, "GROUP": 64},
        {"ROWS": 8, "LANE_BACKEND": 3, "LANES": 32, "WIDE": 1, "MODE": 2},
    ),
    "smith_waterman_trace_lanes": (
        {"ROWS": 16, "GROUP": 128, "LANE_BACKEND": 3, "TRACED": 0},
        {"ROWS": 16, "GROUP": 128, "LANE_BACKEND": 3, "ENDS": 1},
        {"ROWS": 4, "GROUP": 32, "LANE_BACKEND": 0, "ENDS": 2},
    ),
    "smith_waterman_trace_vector": (
        {"WIDTH": 16, "LANES": 16, "EQUAL": 0},
        {"WIDTH": 16, "LANES": 16, "LINEAR": 1, "ENDS": 1},
        {"WIDTH": 32, "LANES": 8, "EQUAL": 0, "ENDS": 2},
    ),
    "smith_waterman_vector": (
        {"MODE": 3, "WIDTH": 8, "LANES": 32, "COLUMNS": 4},
        {"MODE": 1, "WIDTH": 16, "LANES": 32},
        {"MODE": 2, "WIDTH": 32, "LANES": 16},
    ),
    "ssv_item": (
        *({"NODES": ssv.nodes, "GROUP": ssv.group} for ssv in map(SsvTuning.of_family, ("nvidia", ""))),
        {"NODES": 2, "CLASSES": 6, "ONE_STRIP": 1},
    ),
    "ssv_vector": (
        {"LANES": 32, "VECTORS": 4, "SEQUENCES": 2},
        {"LANES": 16, "VECTORS": 20},
        {"LANES": 64, "VECTORS": 9},
    ),
    "viterbi_filter_lanes": (
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 50, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TABLE": 0, "ALL": 1},
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3, "SKEWED": 1},
        {"NODES": 8, "GROUP": 128, "LANE_BACKEND": 3, "LANES": 8, "BLOCK": 2, "SKEWED": 1},
        {"NODES": 20, "GROUP": 64, "LANE_BACKEND": 3, "SKEWED": 1, "LOCAL_TABLE": 0},
        {"NODES": 1, "LANE_BACKEND": 0, "SKEWED": 1},
    ),
    "viterbi_filter_vector": ({"LANES": 32, "VECTORS": 3, "FIXED": 1}, {"VECTORS": 8, "PLAIN": 1, "SEQUENCES": 1}),
    "viterbi_item": (
        {"NODES": 16, "GROUP": 64},
        {"NODES": 24, "GROUP": 64, "ONE_STRIP": 1},
        {"NODES": 1, "GROUP": 33, "ONE_STRIP": 1},
    ),
    "viterbi_ladder_item": (
        {"SCHEDULING": 1},
        {"UNROLL": 8},
        {"SCHEDULING": 1, "UNROLL": 8},
        {"SEQUENCES": 1, "ROWS": 1},
        {"SEQUENCES": 2, "ROWS": 2, "GROUP": 33},
        {"TRANSITIONS": 1, "SPECIALS": 1},
        {"TRANSITIONS": 2, "SPECIALS": 2},
        {"SPECIALS": 3, "UNROLL": 16},
        {"EMISSIONS": 1, "FINE": 1},
        {"FIRST_ROW": 1},
        {"FIRST_ROW": 2},
        {"FIRST_ROW": 3, "SPECIALS": 1},
        {"EMISSIONS": 2, "NODES": 260, "NODE_STRIDE": 264},
        {"SCHEDULING": 1, "UNROLL": 8, "SEQUENCES": 1, "ROWS": 2, "TRANSITIONS": 1, "SPECIALS": 1, "NODES": 488},
    ),
    "viterbi_lanes": (
        {"NODES": 4, "SEQUENCES": 2, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 16, "SEQUENCES": 1, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 160, "SEQUENCES": 1, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TRANSITIONS": 0},
        {"NODES": 4, "SEQUENCES": 2, "GROUP": 32, "LANE_BACKEND": 0},
        {"NODES": 8, "GROUP": 64, "LANE_BACKEND": 3, "SKEWED": 1, "LOCAL_EMISSIONS": 1},
        {"NODES": 16, "GROUP": 64, "LANE_BACKEND": 3, "SKEWED": 1},
        {"NODES": 1, "GROUP": 32, "LANE_BACKEND": 0, "SKEWED": 1},
    ),
    "viterbi_trace_lanes": (
        {"NODES": 5, "LANE_BACKEND": 3},
        {"NODES": 157, "LANE_BACKEND": 3},
        {"NODES": 3, "LANE_BACKEND": 0},
    ),
    "viterbi_trace_vector": ({"LANES": 8, "VECTORS": 16}, {"LANES": 16, "VECTORS": 16}),
    "viterbi_vector": ({"LANES": 8, "VECTORS": 16}, {"LANES": 16, "VECTORS": 16, "SEQUENCES": 1}),
}
