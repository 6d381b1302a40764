/* The directions of the best path: where each value of the matrices came from. */

#include "common/plan7.h"

/* Where M came from (two bits), I and D (one bit each), and which values are impossible. */
enum { FROM_B, FROM_M, FROM_I, FROM_D };
enum { CELL_I_FROM_I = 4, CELL_D_FROM_D = 8, CELL_M_IMPOSSIBLE = 16, CELL_I_IMPOSSIBLE = 32,
       CELL_D_IMPOSSIBLE = 64 };

/* Which special states did not simply loop, and which are impossible. */
enum { FLAG_C_FROM_E = 1, FLAG_J_FROM_E = 2, FLAG_B_FROM_J = 4, FLAG_C_IMPOSSIBLE = 8, FLAG_J_IMPOSSIBLE = 16,
       FLAG_B_IMPOSSIBLE = 32, FLAG_E_IMPOSSIBLE = 64, FLAG_N_IMPOSSIBLE = 128 };

/* The flags of row 0, where only N and B are possible. */
#define FLAGS_AT_START (FLAG_E_IMPOSSIBLE | FLAG_C_IMPOSSIBLE | FLAG_J_IMPOSSIBLE)

uchar special_flags(plan7_specials_t before, plan7_specials_t after, int e, __constant const int *special)
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
