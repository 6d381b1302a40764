/* The directions of the best path, and the walk along them. */

/* Where M came from (two bits), I and D (one bit each), and which values are impossible. */
enum { FROM_B, FROM_M, FROM_I, FROM_D };
enum { CELL_I_FROM_I = 4, CELL_D_FROM_D = 8, CELL_M_IMPOSSIBLE = 16, CELL_I_IMPOSSIBLE = 32,
       CELL_D_IMPOSSIBLE = 64 };

/* Which special states did not simply loop, and which are impossible. */
enum { FLAG_C_FROM_E = 1, FLAG_J_FROM_E = 2, FLAG_B_FROM_J = 4, FLAG_C_IMPOSSIBLE = 8, FLAG_J_IMPOSSIBLE = 16,
       FLAG_B_IMPOSSIBLE = 32, FLAG_E_IMPOSSIBLE = 64, FLAG_N_IMPOSSIBLE = 128 };

/* The flags of row 0, where only N and B are possible. */
#define FLAGS_AT_START (FLAG_E_IMPOSSIBLE | FLAG_C_IMPOSSIBLE | FLAG_J_IMPOSSIBLE)

uchar special_flags(specials_t before, specials_t after, int e, __constant const int *special)
{
    uchar flags = 0;
    if (after.c != before.c + special[C_LOOP]) flags |= FLAG_C_FROM_E;
    if (after.j != before.j + special[J_LOOP]) flags |= FLAG_J_FROM_E;
    if (after.b != after.n + special[N_MOVE]) flags |= FLAG_B_FROM_J;
    if (after.c <= IMPOSSIBLE) flags |= FLAG_C_IMPOSSIBLE;
    if (after.j <= IMPOSSIBLE) flags |= FLAG_J_IMPOSSIBLE;
    if (after.b <= IMPOSSIBLE) flags |= FLAG_B_IMPOSSIBLE;
    if (after.n <= IMPOSSIBLE) flags |= FLAG_N_IMPOSSIBLE;
    if (e <= IMPOSSIBLE) flags |= FLAG_E_IMPOSSIBLE;
    return flags;
}

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
