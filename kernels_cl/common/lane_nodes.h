/* Lanes that hold NODES consecutive nodes of a model each. */

#include "common/lanes.h"

#ifndef NODES
#define NODES 4
#endif

#define ROW (NODES * LANES)

/* Registers can only be indexed by loops that are unrolled; beyond this many they are spilled anyway. */
#if NODES <= 40
#define UNROLL_NODES NODES
#else
#define UNROLL_NODES 1
#endif
