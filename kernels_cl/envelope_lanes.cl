/* Envelopes: Forward score, posterior probabilities, optimal accuracy alignment and composition: the shape for GPUs.

   Four work-items share one of the envelopes; SEQUENCES of them work together (common/quads.h) and run as far
   as the longest.
   Buffers: see common/rescore.h.

   Macros
     LANES, LANE_BACKEND  see common/lanes.h
     SABOTAGE             1 plants a fault, for the test of the tests

   Geometry: work-groups of LANES, as many as the device holds; they take envelopes from a counter.
   Local memory: LANES * 4 bytes. */

#include "common/lanes.h"
#include "common/quads.h"
#include "common/rescore.h"
