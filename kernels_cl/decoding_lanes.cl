/* Forward and Backward of whole targets, and the regions that their posterior probabilities show: the shape for GPUs.

   Four work-items share one of the targets; SEQUENCES of them work together (common/quads.h) and run as far
   as the longest.
   Buffers: see common/decode.h.

   Macros
     LANES, LANE_BACKEND  see common/lanes.h
     SABOTAGE             1 plants a fault, for the test of the tests

   Geometry: work-groups of LANES, as many as the device holds; they take targets from a counter.
   Local memory: LANES * 4 bytes. */

#include "common/lanes.h"
#include "common/quads.h"
#include "common/decode.h"
