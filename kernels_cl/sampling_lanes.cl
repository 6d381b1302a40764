/* Random tracebacks through regions that may hold several domains (clalign/reference/sampling.py): the shape for GPUs.

   Four work-items share one of the regions; SEQUENCES of them work together (common/quads.h) and run as far
   as the longest.
   Buffers: see common/sample.h.

   Macros
     LANES, LANE_BACKEND  see common/lanes.h
     SABOTAGE             1 plants a fault, for the test of the tests

   Geometry: work-groups of LANES, as many as the device holds; they take regions from a counter.
   Local memory: LANES * 4 bytes. */

#include "common/lanes.h"
#include "common/quads.h"
#include "common/sample.h"
