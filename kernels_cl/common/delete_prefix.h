/* What deletes pay that cross the lanes of Plan7 Viterbi. */

#include "common/lane_nodes.h"
#include "common/plan7.h"

#ifndef TRANSITIONS_IN
#define TRANSITIONS_IN __global
#endif

/* Sums of D->D over the nodes of 1, 2, 4 ... lanes that end with this one. before[k]: the same over the nodes of this
   lane before k. */
typedef struct {
    int before[NODES];
    int whole[5];
} delete_prefix_t;

/* `t` points at the lane's transitions. */
void find_delete_prefix(delete_prefix_t *prefix, TRANSITIONS_IN const int *t, uint lane, __local int *scratch)
{
    int total = 0;
    for (int k = 0; k < NODES; k++) {
        prefix->before[k] = total;
        total = CLAMP(total + t[TDD * ROW + k * LANES]);
    }
    for (uint s = 0; (1u << s) < LANES; s++) {
        prefix->whole[s] = total;
        const int before = shuffle_up(total, 1u << s, 0, lane, scratch); /* macros evaluate their argument twice */
        total = CLAMP(total + before);
    }
}

/* D of the nodes of a lane, d[NODES], of which what came from within the lane is there and the last one leaves it; what
   comes in from the lanes before is added. */
void add_entering_deletes(int *d, int leaving, const delete_prefix_t *prefix, uint lane, __local int *scratch)
{
    for (uint step = 0; (1u << step) < LANES; step++) {
        const int from_left = shuffle_up(leaving, 1u << step, IMPOSSIBLE, lane, scratch);
        leaving = MAX(leaving, CLAMP(from_left + prefix->whole[step]));
    }
    const int entering = shuffle_up(leaving, 1, IMPOSSIBLE, lane, scratch);
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) d[k] = MAX(d[k], CLAMP(entering + prefix->before[k]));
}
