/* Random tracebacks through regions that may hold several domains (clalign/reference/sampling.py): the shape for CPUs.

   SEQUENCES regions lie side by side in a vector (common/fours.h) and run as far as the longest of them.
   Buffers: see common/sample.h.

   Macros
     LANES     see common/fours.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take regions from a counter. */

#include "common/fours.h"
#include "common/sample.h"
