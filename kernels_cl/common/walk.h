/* The walk along the directions (common/directions.h) of a sequence, from its end to its start. */

/* What the walk writes down for a residue: 0 outside of all domains, else its node (from 1) shifted by
   two, whether an insert emits it, and whether a domain begins with it. Deletes need no note: they fill
   the gap between the nodes of two residues. */
enum { STEP_INSERT = 1, STEP_BEGINS = 2, STEP_NODE_SHIFT = 2 };

enum { IN_MATCH, IN_INSERT, IN_DELETE };

/* Walk from E of row i back to B; returns the row of that B, or -1 on an impossible state. PLACE(k) says
   where node k (from 1) stands in a row of `width` directions. */
int walk_domain(int i, __global const uchar *cells, int width, __global const int *exits, __global int *steps)
{
    int k = exits[i], state = IN_MATCH;
    while (i > 0 && k > 0) {
        const uchar cell = cells[(size_t)(i - 1) * width + PLACE(k)];
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

/* Walk the whole path of a sequence; returns 1, or 0 if it meets an impossible state. */
uchar walk(int length, __global const uchar *cells, int width, __global const uchar *flags,
           __global const int *exits, __global int *steps)
{
    int i = length;
    for (int x = 0; x < length; x++) steps[x] = 0;
    if (flags[i] & FLAG_C_IMPOSSIBLE) return 0;
    while (i > 0 && !(flags[i] & FLAG_C_FROM_E)) i--;
    for (;;) {
        if (flags[i] & FLAG_E_IMPOSSIBLE) return 0;
        i = walk_domain(i, cells, width, exits, steps);
        if (i < 0 || flags[i] & (FLAG_B_IMPOSSIBLE | FLAG_N_IMPOSSIBLE)) return 0;
        if (!(flags[i] & FLAG_B_FROM_J)) return 1;
        if (flags[i] & FLAG_J_IMPOSSIBLE) return 0;
        while (i > 0 && !(flags[i] & FLAG_J_FROM_E)) i--;
    }
}
