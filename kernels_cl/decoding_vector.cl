/* Forward and Backward of whole targets, and the regions that their posterior probabilities show: the shape for CPUs.

   SEQUENCES targets lie side by side in a vector (common/fours.h) and run as far as the longest of them.
   Buffers: see common/decode.h.

   Macros
     LANES     see common/fours.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take targets from a counter. */

#include "common/fours.h"
#include "common/decode.h"
