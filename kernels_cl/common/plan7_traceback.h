/* The traceback of a sequence along its directions, from its end to its start.

   Node k (from 1) stands at (k - 1) % per_lane * lanes + (k - 1) / per_lane of a row of lanes * per_lane directions. */

#include "common/plan7_directions.h"

/* What it writes down for a residue: 0 outside of all domains, else its node (from 1) shifted by
   two, whether an insert emits it, and whether a domain begins with it. Deletes need no note: they fill
   the gap between the nodes of two residues. */
enum { STEP_INSERT = 1, STEP_BEGINS = 2, STEP_NODE_SHIFT = 2 };

enum { IN_MATCH, IN_INSERT, IN_DELETE };

/* From E of row i back to B; returns the row of that B, or -1 on an impossible state. */
int traceback_domain(int i, __global const uchar *cells, int lanes, int per_lane, __global const int *exits,
                     __global int *steps)
{
    int k = exits[i], state = IN_MATCH;
    while (i > 0 && k > 0) {
        const uchar cell = cells[(size_t)(i - 1) * (lanes * per_lane)
                                 + (k - 1) % per_lane * lanes + (k - 1) / per_lane];
        if (cell & (CELL_M_IMPOSSIBLE << state)) return -1;
        if (state == IN_DELETE) {
            k--;
            state = cell & CELL_D_FROM_D ? IN_DELETE : IN_MATCH;
            continue;
        }
        i--;
        if (state == IN_INSERT) {
            steps[i] = k << STEP_NODE_SHIFT | STEP_INSERT;
            state = cell & CELL_I_FROM_I ? IN_INSERT : IN_MATCH;
            continue;
        }
        const int from = cell & 3;
        steps[i] = k << STEP_NODE_SHIFT | (from == FROM_B ? STEP_BEGINS : 0);
        if (from == FROM_B) return i;
        k--;
        state = from == FROM_M ? IN_MATCH : from == FROM_I ? IN_INSERT : IN_DELETE;
    }
    return -1;
}

/* The whole path of a sequence; returns 1, or 0 if it meets an impossible state. */
uchar traceback(int length, __global const uchar *cells, int lanes, int per_lane, __global const uchar *flags,
                __global const int *exits, __global int *steps)
{
    int i = length;
    for (int x = 0; x < length; x++) steps[x] = 0;
    if (flags[i] & FLAG_C_IMPOSSIBLE) return 0;
    while (i > 0 && !(flags[i] & FLAG_C_FROM_E)) i--;
    for (;;) {
        if (flags[i] & FLAG_E_IMPOSSIBLE) return 0;
        i = traceback_domain(i, cells, lanes, per_lane, exits, steps);
        if (i < 0 || flags[i] & (FLAG_B_IMPOSSIBLE | FLAG_N_IMPOSSIBLE)) return 0;
        if (!(flags[i] & FLAG_B_FROM_J)) return 1;
        if (flags[i] & FLAG_J_IMPOSSIBLE) return 0;
        while (i > 0 && !(flags[i] & FLAG_J_FROM_E)) i--;
    }
}
