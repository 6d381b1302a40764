/* One row of Plan7 Viterbi with the model striped over explicit vectors, for CPUs.

   Node lane * VECTORS + q sits in lane `lane` of vector q, so the left neighbor of a whole vector is
   the vector before it, and only the last one must be shifted by a lane. Deletes run down the vectors
   once; what leaves the end of a lane enters the next one through a max-plus prefix scan over the lanes
   and a second pass. The recurrence is that of clalign/reference/viterbi.py.

   Tables
     transitions  int[VECTORS][N_TRANSITIONS][LANES]
     delete_prefix    int[VECTORS + N_SCAN_STEPS][LANES]    sums of D->D: over the vectors before q; then, for each
                                                   step s of the scan, over 2^s lanes
     emissions    int[N_CODES][VECTORS][2][LANES]  match, insert

   Macros
     LANES      8 or 16: ints in a vector
     VECTORS    vectors a row, >= 1, LANES * VECTORS >= M
     TRACE      1 to write down where each value came from
     SABOTAGE   1: from match to match at the cost of from insert to match

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#include "common/plan7_directions.h"

#ifndef LANES
#define LANES 8
#endif
#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef TRACE
#define TRACE 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

typedef int ints __attribute__((ext_vector_type(LANES)));
typedef uchar uchars __attribute__((ext_vector_type(LANES)));

#if LANES == 8
#define N_SCAN_STEPS 3
#define UP_1(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 0, 1, 2, 3, 4, 5, 6)
#define UP_2(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 8, 0, 1, 2, 3, 4, 5)
#define UP_4(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 8, 8, 8, 8, 0, 1, 2, 3)
#elif LANES == 16
#define N_SCAN_STEPS 4
#define UP_1(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define UP_2(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
#define UP_4(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
#define UP_8(v) __builtin_shufflevector(v, (ints)(IMPOSSIBLE), 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7)
#endif

int highest_int(ints v)
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

#if TRACE

/* Where M came from, in HMMER2's order of tests; where I came from; what is impossible. */
ints directions(ints v, ints from_b, ints from_m, ints from_i, ints opened, ints extended, ints m, ints i)
{
    const ints from = v == from_b ? (ints)(FROM_B) : v == from_m ? (ints)(FROM_M) : v == from_i ? (ints)(FROM_I)
                                                                                               : (ints)(FROM_D);
    const ints inserted = MAX(opened, extended);
    return from | (extended > opened ? (ints)(CELL_I_FROM_I) : (ints)(0))
                | (((v <= IMPOSSIBLE) | (m <= IMPOSSIBLE)) ? (ints)(CELL_M_IMPOSSIBLE) : (ints)(0))
                | (((inserted <= IMPOSSIBLE) | (i <= IMPOSSIBLE)) ? (ints)(CELL_I_IMPOSSIBLE) : (ints)(0));
}

/* Add where each D came from, M before D, and write the directions of the row. */
void write_directions(const ints *cell, const ints *m, const ints *d, __global const ints *t, __global uchars *cells)
{
    const int last = VECTORS - 1;
    __global const ints *end = t + last * N_TRANSITIONS;
    ints from_d = d[last] + end[TDD] > m[last] + end[TMD] ? (ints)(CELL_D_FROM_D) : (ints)(0);
    from_d = UP_1(from_d);
    for (int q = 0; q < VECTORS; q++, t += N_TRANSITIONS) {
        const ints impossible = d[q] <= IMPOSSIBLE ? (ints)(CELL_D_IMPOSSIBLE) : (ints)(0);
        cells[q] = __builtin_convertvector(cell[q] | impossible | (from_d & CELL_D_FROM_D), uchars);
        from_d = d[q] + t[TDD] > m[q] + t[TMD] ? (ints)(CELL_D_FROM_D) : (ints)(0);
    }
}

/* The highest node (from 1) that reaches the best way out of the model. */
int exit_of(ints best, ints at, int e)
{
    int lane = LANES - 1;
    while (lane > 0 && best[lane] != e) lane--;
    return lane * VECTORS + at[lane] + 1;
}

#endif

/* One residue: the new M, I, D of all nodes; returns the best way out of the model. */
int striped_row(ints *m, ints *i, ints *d, int b, __global const ints *t, __global const ints *delete_prefix,
                __global const ints *emission
#if TRACE
                , __global uchars *cells, __global int *exit_node
#endif
                )
{
    ints left_m = UP_1(m[VECTORS - 1]), left_i = UP_1(i[VECTORS - 1]), left_d = UP_1(d[VECTORS - 1]);
    ints best = (ints)(IMPOSSIBLE + IMPOSSIBLE), chain = (ints)(IMPOSSIBLE);
    __global const ints *first = t;
#if TRACE
    ints cell[VECTORS], at = (ints)(0);
#endif
    for (int q = 0; q < VECTORS; q++, t += N_TRANSITIONS, emission += 2) {
        const ints old_m = m[q], old_i = i[q], old_d = d[q];
        const ints from_m = left_m + t[SABOTAGE ? TIM : TMM], from_i = left_i + t[TIM], from_d = left_d + t[TDM];
        const ints from_b = b + t[TBM], opened = old_m + t[TMI], extended = old_i + t[TII];
        ints v = MAX(from_m, from_i);
        v = MAX(v, from_d);
        v = MAX(v, from_b);
        const ints w = MAX(opened, extended);
        m[q] = CLAMP(CLAMP(v) + emission[0]);
        i[q] = CLAMP(CLAMP(w) + emission[1]);
        d[q] = chain;
        const ints out = m[q] + t[TME];
#if TRACE
        cell[q] = directions(v, from_b, from_m, from_i, opened, extended, m[q], i[q]);
        at = out >= best ? (ints)(q) : at;
#endif
        best = MAX(best, out);
        chain = CLAMP(MAX(m[q] + t[TMD], chain + t[TDD]));
        left_m = old_m;
        left_i = old_i;
        left_d = old_d;
    }
    const ints entering = scan(chain, delete_prefix + VECTORS);
    for (int q = 0; q < VECTORS; q++) d[q] = MAX(d[q], CLAMP(entering + delete_prefix[q]));
    const int e = highest_int(best);
#if TRACE
    write_directions(cell, m, d, first, cells);
    *exit_node = exit_of(best, at, e);
#endif
    return e;
}
