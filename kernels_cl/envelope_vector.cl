/* Envelopes: Forward score, posterior probabilities, optimal accuracy alignment and composition: the shape for CPUs.

   SEQUENCES envelopes lie side by side in a vector (common/fours.h) and run as far as the longest of them.
   Buffers: see common/rescore.h.

   Macros
     LANES     see common/fours.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take envelopes from a counter. */

#include "common/fours.h"
#include "common/rescore.h"
