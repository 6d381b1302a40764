/* One row of Plan7 Viterbi with reweighted scores (clalign/stages/plan7/reweighting.py), striped over explicit
   vectors as in common/striped.h, for several sequences that share each load of a step.

   Kept from row to row, for node k
     x   the best that M of node k + 1 can come from: M, I, and the deletes of this lane
     w   the best that I of node k can come from, before its emission
     entering   the best D that enters each lane from those before it. A chain of deletes costs nothing
                here, so it is the same for all nodes of the lane, and is only added when x is used.

   Tables
     steps      int[VECTORS][6][LANES]    begin (N to B included), match to match, insert to match,
                                          delete to match, insert to insert, match to delete
     emissions  int[N_CODES][VECTORS][2][LANES]

   Macros: SEQUENCES, those worked on at once; LANES and VECTORS as in common/striped.h. */

#ifndef SEQUENCES
#define SEQUENCES 2
#endif

typedef struct {
    ints x[VECTORS], w[VECTORS];
    ints entering, best;
    int bonus; /* of B, once J has played a part; 0 before */
} row_t;

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define OUTSIDE ((ints)(2 * NEVER))

/* Shift by lanes, with NEVER for what comes in. */
#if LANES == 8
#define PAST_1(v) __builtin_shufflevector(v, OUTSIDE, 8, 0, 1, 2, 3, 4, 5, 6)
#define PAST_2(v) __builtin_shufflevector(v, OUTSIDE, 8, 8, 0, 1, 2, 3, 4, 5)
#define PAST_4(v) __builtin_shufflevector(v, OUTSIDE, 8, 8, 8, 8, 0, 1, 2, 3)
#elif LANES == 16
#define PAST_1(v) __builtin_shufflevector(v, OUTSIDE, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define PAST_2(v) __builtin_shufflevector(v, OUTSIDE, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
#define PAST_4(v) __builtin_shufflevector(v, OUTSIDE, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
#define PAST_8(v) __builtin_shufflevector(v, OUTSIDE, 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7)
#endif

/* The maximum over the lanes before each one. */
ints highest_before(ints v)
{
    v = PAST_1(v);
    v = LARGER(v, PAST_1(v));
    v = LARGER(v, PAST_2(v));
    v = LARGER(v, PAST_4(v));
#if LANES == 16
    v = LARGER(v, PAST_8(v));
#endif
    return v;
}

/* Whether any lane is above a limit. */
int any_above(ints v, int limit)
{
    const ints above = v > (ints)(limit);
    const ulong *parts = (const ulong *)&above;
    ulong any = parts[0];
#pragma unroll
    for (int part = 1; part < LANES / 2; part++) any |= parts[part];
    return any != 0;
}

/* `with_bonus` is a constant wherever this is called: without it, B is what the table says. */
__attribute__((always_inline))
void next_rows(row_t *rows, __global const ints *t, __global const ints **emissions, int with_bonus)
{
    ints left[SEQUENCES], chain[SEQUENCES], best[SEQUENCES], entering[SEQUENCES];
    const ints last = t[(VECTORS - 1) * 6 + 3];
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        entering[s] = rows[s].entering;
        best[s] = rows[s].best;
        const ints x = LARGER(rows[s].x[VECTORS - 1], entering[s] + last);
        left[s] = PAST_1(x);
        chain[s] = OUTSIDE;
    }
    for (int q = 0; q < VECTORS; q++, t += 6) {
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            row_t *row = rows + s;
            const ints begin = with_bonus ? t[0] + row->bonus : t[0];
            const ints m = LARGER(left[s], begin) + emissions[s][2 * q];
            const ints i = row->w[q] + emissions[s][2 * q + 1];
            best[s] = LARGER(best[s], m);
            left[s] = LARGER(row->x[q], entering[s] + t[3]);
            const ints x = LARGER(m + t[1], i + t[2]);
            row->x[q] = LARGER(x, chain[s] + t[3]);
            row->w[q] = LARGER(i + t[4], m);
            chain[s] = LARGER(m + t[5], chain[s]);
        }
    }
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        rows[s].entering = highest_before(chain[s]);
        rows[s].best = best[s];
    }
}
