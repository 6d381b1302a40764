/* Plan7 Viterbi, HMMER2's integer scores, exact: the shape for CPUs.

   A work-item is a core; the model is striped over explicit vectors. `viterbi_score` serves every
   model (common/striped.h); `viterbi_score_reweighted` is about twice as fast and serves those that
   can be reweighted (common/striped_reweighted.h).

   Buffers
     codes        uchar[n_residues]    letter codes, sequence after sequence
     offsets      int[n + 1]           where each begins
     transitions, crossings, emissions, steps    see the two headers
     special      int[N_SPECIALS]; reweighted: int[3], the best way out of the model up to which J plays
                  no part, what a way out adds to B beyond it, from the end to the score
     next         int[1]               in: 0; the next sequence to be taken
     scores       int[n]               out: 1/1000 bit; undefined for empty sequences if reweighted

   Macros
     LANES, VECTORS, SEQUENCES   see the two headers
     SABOTAGE                    1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/plan7.h"
#include "common/striped.h"
#include "common/striped_reweighted.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

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

__kernel void viterbi_score_reweighted(__global const uchar *codes, __global const int *offsets, const uint n,
                                       __global const ints *steps, __global const ints *emissions,
                                       __constant const int *special, __global int *next, __global int *scores)
{
    row_t rows[SEQUENCES];
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
                    next_rows(rows, steps, emission, 1);
                else
                    next_rows(rows, steps, emission, 0);
#pragma unroll
                for (int s = 0; s < SEQUENCES; s++)
                    if (any_above(rows[s].best, special[0] + rows[s].bonus))
                        rows[s].bonus = highest(rows[s].best) + special[1];
            }
            for (int s = 0; s < SEQUENCES && first + s < n; s++)
                if (length[s] == stop) scores[first + s] = highest(rows[s].best) + special[2] + SABOTAGE;
        }
    }
}
