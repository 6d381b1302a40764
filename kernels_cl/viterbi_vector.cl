/* Plan7 Viterbi, HMMER2's integer scores, exact: the shape for CPUs.

   A work-item is a core; the model is striped over explicit vectors (common/striped.h).

   Buffers
     codes        uchar[n_residues]    letter codes, sequence after sequence
     offsets      int[n + 1]           where each begins
     transitions, crossings, emissions see common/striped.h
     special      int[N_SPECIALS]
     next         int[1]               in: 0; the next sequence to be taken
     scores       int[n]               out: 1/1000 bit

   Macros
     LANES, VECTORS  see common/striped.h
     SABOTAGE        1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/plan7.h"
#include "common/striped.h"

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
