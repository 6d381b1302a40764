/* Plan7 Viterbi, HMMER2's integer scores, exact: the shape for CPUs.

   A work-item is a core. The model is striped: node lane * VECTORS + q sits in lane `lane` of vector
   q, so the left neighbor of a whole vector is the vector before it, and only the last one must be
   shifted by a lane. Deletes run down the vectors once; what leaves the end of a lane enters the next
   one through a max-plus prefix scan over the lanes and a second pass. The recurrence is that of
   clalign/reference/viterbi.py.

   Buffers
     codes        uchar[n_residues]                        letter codes, sequence after sequence
     offsets      int[n + 1]                               where each begins
     transitions  int[VECTORS][N_TRANSITIONS][LANES]
     crossings    int[VECTORS + N_STEPS][LANES]            sums of D->D: over the vectors before q; then,
                                                           for each step s of the scan, over 2^s lanes
     emissions    int[N_CODES][VECTORS][2][LANES]          match, insert
     special      int[N_SPECIALS]
     next         int[1]                                   in: 0; the next sequence to be taken
     scores       int[n]                                   out: 1/1000 bit

   Macros
     LANES      8 or 16: ints in a vector
     VECTORS    vectors a row, >= 1, LANES * VECTORS >= M
     SABOTAGE   1 plants a fault, for the test of the tests

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them.
   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/plan7.h"

#ifndef LANES
#define LANES 8
#endif
#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

typedef int ints __attribute__((ext_vector_type(LANES)));

#if LANES == 8
#define N_STEPS 3
#define UP_1(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 0, 1, 2, 3, 4, 5, 6)
#define UP_2(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 8, 0, 1, 2, 3, 4, 5)
#define UP_4(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 8, 8, 8, 0, 1, 2, 3)
#elif LANES == 16
#define N_STEPS 4
#define UP_1(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define UP_2(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
#define UP_4(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
#define UP_8(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7)
#endif

int highest(ints v)
{
    int best = v[0];
    for (int lane = 1; lane < LANES; lane++) best = MAX(best, v[lane]);
    return best;
}

/* What enters each lane's first vector from all the lanes before it, given what leaves each lane. */
ints scan(ints leaving, __global const ints *whole)
{
    ints v = leaving;
    v = MAX(v, CLAMP(UP_1(v) + whole[0]));
    v = MAX(v, CLAMP(UP_2(v) + whole[1]));
    v = MAX(v, CLAMP(UP_4(v) + whole[2]));
#if LANES == 16
    v = MAX(v, CLAMP(UP_8(v) + whole[3]));
#endif
    return UP_1(v);
}

/* One residue: the new M, I, D of all nodes; returns the best way out of the model. */
int next_row(ints *m, ints *i, ints *d, int b, __global const ints *t, __global const ints *crossings,
             __global const ints *emission)
{
    ints left_m = UP_1(m[VECTORS - 1]), left_i = UP_1(i[VECTORS - 1]), left_d = UP_1(d[VECTORS - 1]);
    ints best = (ints)(IMPOSSIBLE + IMPOSSIBLE), chain = (ints)(IMPOSSIBLE);
    for (int q = 0; q < VECTORS; q++, t += N_TRANSITIONS, emission += 2) {
        const ints old_m = m[q], old_i = i[q], old_d = d[q];
        ints v = MAX(left_m + t[IN_MM], left_i + t[IN_IM]);
        v = MAX(v, left_d + t[IN_DM]);
        v = MAX(v, b + t[BEGIN]);
        v = CLAMP(CLAMP(v) + emission[0]);
        ints w = MAX(old_m + t[MI], old_i + t[II]);
        m[q] = v;
        i[q] = CLAMP(CLAMP(w) + emission[1]);
        d[q] = chain;
        best = MAX(best, v + t[END]);
        chain = CLAMP(MAX(v + t[OUT_MD], chain + t[OUT_DD]));
        left_m = old_m;
        left_i = old_i;
        left_d = old_d;
    }
    const ints entering = scan(chain, crossings + VECTORS);
    for (int q = 0; q < VECTORS; q++) d[q] = MAX(d[q], CLAMP(entering + crossings[q]));
    return highest(best);
}

__kernel void viterbi_score(__global const uchar *codes, __global const int *offsets, const uint n,
                            __global const ints *transitions, __global const ints *crossings,
                            __global const ints *emissions, __constant const int *special,
                            __global int *next, __global int *scores)
{
    ints m[VECTORS], i[VECTORS], d[VECTORS];
    for (uint row = atomic_inc(next); row < n; row = atomic_inc(next)) {
        __global const uchar *code = codes + offsets[row];
        __global const uchar *end = codes + offsets[row + 1];
        specials_t s = specials_at_start(special);
        for (int q = 0; q < VECTORS; q++) m[q] = i[q] = d[q] = (ints)(IMPOSSIBLE);
        for (; code < end; code++) {
            const int e = next_row(m, i, d, s.b, transitions, crossings, emissions + (uint)*code * VECTORS * 2);
            s = specials_after(s, e + SABOTAGE, special);
        }
        scores[row] = s.c + special[C_MOVE];
    }
}
