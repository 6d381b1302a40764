/* Plan7 Viterbi, HMMER2's integer scores, exact: the shape for CPUs.

   A work-item is a core; the model is striped over explicit vectors. `viterbi_score` serves every
   model (common/striped.h); `viterbi_score_reweighted` is about twice as fast and serves those that
   can be reweighted (clalign/stages/plan7/reweighting.py): several sequences share each load of a transition.

   Buffers
     codes        uchar[n_residues]    letter codes, sequence after sequence
     offsets      int[n + 1]           where each begins
     transitions, delete_prefix, emissions    see common/striped.h
     steps        int[VECTORS][6][LANES]   reweighted: begin (N to B included), match to match, insert to match,
                                           delete to match, insert to insert, match to delete
     special      int[N_SPECIALS]; reweighted: int[3], the best way out of the model up to which J plays
                  no part, what a way out adds to B beyond it, from the end to the score
     next         int[1]               in: 0; the next sequence to be taken
     scores       int[n]               out: 1/1000 bit; undefined for empty sequences if reweighted

   Macros
     LANES, VECTORS   see common/striped.h
     SEQUENCES        those worked on at once, if reweighted
     SABOTAGE         1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/striped.h"
#include "common/vectors.h"

#ifndef SEQUENCES
#define SEQUENCES 2
#endif

/* A row of the reweighted form. Kept from row to row, for node k
     x   the best that M of node k + 1 can come from: M, I, and the deletes of this lane
     w   the best that I of node k can come from, before its emission
     entering   the best D that enters each lane from those before it. A chain of deletes costs nothing
                here, so it is the same for all nodes of the lane, and is only added when x is used. */
typedef struct {
    ints x[VECTORS], w[VECTORS];
    ints entering, best;
    int bonus; /* of B, once J has played a part; 0 before */
} reweighted_row_t;

#define OUTSIDE ((ints)(2 * FAR_BELOW))

/* Shift by lanes, with FAR_BELOW for what comes in. */
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

/* Whether any lane of a comparison holds. */
int holds(ints comparison)
{
    const ulong *parts = (const ulong *)&comparison;
    ulong any = parts[0];
#pragma unroll
    for (int part = 1; part < LANES / 2; part++) any |= parts[part];
    return any != 0;
}

/* `with_bonus` is a constant wherever this is called: without it, B is what the table says. */
__attribute__((always_inline))
void next_reweighted_rows(reweighted_row_t *rows, __global const ints *t, __global const ints **emissions,
                          int with_bonus)
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
            reweighted_row_t *row = rows + s;
            const ints begin = with_bonus ? t[0] + row->bonus : t[0];
            const ints m = LARGER(left[s], begin) + emissions[s][2 * q];
            const ints i = row->w[q] + emissions[s][2 * q + 1];
            best[s] = LARGER(best[s], m);
            left[s] = LARGER(row->x[q], entering[s] + t[3]);
            const ints x = LARGER(m + t[SABOTAGE ? 2 : 1], i + t[2]);
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

__kernel void viterbi_score(__global const uchar *codes, __global const int *offsets, const uint n,
                            __global const ints *transitions, __global const ints *delete_prefix,
                            __global const ints *emissions, __constant const int *special,
                            __global int *next, __global int *scores)
{
    ints m[VECTORS], i[VECTORS], d[VECTORS];
    for (uint row = atomic_inc(next); row < n; row = atomic_inc(next)) {
        __global const uchar *code = codes + offsets[row];
        __global const uchar *end = codes + offsets[row + 1];
        plan7_specials_t s = plan7_specials_at_start(special);
        for (int q = 0; q < VECTORS; q++) m[q] = i[q] = d[q] = (ints)(IMPOSSIBLE);
        for (; code < end; code++) {
            const int e = striped_row(m, i, d, s.b, transitions, delete_prefix, emissions + (uint)*code * VECTORS * 2);
            s = plan7_specials_after(s, e, special);
        }
        scores[row] = s.c + special[C_MOVE];
    }
}

__kernel void viterbi_score_reweighted(__global const uchar *codes, __global const int *offsets, const uint n,
                                       __global const ints *steps, __global const ints *emissions,
                                       __constant const int *special, __global int *next, __global int *scores)
{
    reweighted_row_t rows[SEQUENCES];
    __global const uchar *code[SEQUENCES];
    __global const ints *emission[SEQUENCES];
    int length[SEQUENCES];
    for (uint first = atomic_add(next, SEQUENCES); first < n; first = atomic_add(next, SEQUENCES)) {
        int longest = 0;
        for (int s = 0; s < SEQUENCES; s++) {
            const uint row = first + s < n ? first + s : first;
            length[s] = offsets[row + 1] - offsets[row];
            /* One that has ended runs on idly beside the others; an empty one has no residue of its own. */
            code[s] = codes + (length[s] > 0 ? offsets[row] : 0);
            longest = MAX(longest, length[s]);
            rows[s].entering = rows[s].best = OUTSIDE;
            rows[s].bonus = 0;
            for (int q = 0; q < VECTORS; q++) rows[s].x[q] = rows[s].w[q] = OUTSIDE;
        }
        for (int i = 0; i < longest;) {
            int stop = longest;
            for (int s = 0; s < SEQUENCES; s++) stop = length[s] > i && length[s] < stop ? length[s] : stop;
            for (; i < stop; i++) {
                int bonus = 0;
#pragma unroll
                for (int s = 0; s < SEQUENCES; s++) {
                    emission[s] = emissions + (uint)code[s][i < length[s] ? i : 0] * VECTORS * 2;
                    bonus |= rows[s].bonus;
                }
                if (bonus)
                    next_reweighted_rows(rows, steps, emission, 1);
                else
                    next_reweighted_rows(rows, steps, emission, 0);
                ints above = (ints)(0);
#pragma unroll
                for (int s = 0; s < SEQUENCES; s++) above |= rows[s].best > (ints)(special[0] + rows[s].bonus);
                if (!holds(above)) continue;
                for (int s = 0; s < SEQUENCES; s++)
                    if (holds(rows[s].best > (ints)(special[0] + rows[s].bonus)))
                        rows[s].bonus = highest_int(rows[s].best) + special[1];
            }
            for (int s = 0; s < SEQUENCES && first + s < n; s++)
                if (length[s] == stop) scores[first + s] = highest_int(rows[s].best) + special[2];
        }
    }
}
