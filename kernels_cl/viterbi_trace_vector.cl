/* Plan7 Viterbi with the directions of the best path, for the few sequences that are hits: the shape for CPUs.

   As viterbi_trace_item.cl, with the model striped over explicit vectors (common/striped.h): node
   lane * VECTORS + q is at [q][lane] of a row of directions.

   Buffers: those of viterbi_trace_item.cl without rows, but
     transitions, delete_prefix, emissions     see common/striped.h
     next         int[1]                              in: 0; the next sequence to be taken
     cells        uchar[n_residues][VECTORS][LANES]

   Macros
     LANES, VECTORS  see common/striped.h
     SABOTAGE        1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#define TRACE 1

#include "common/plan7_traceback.h"
#include "common/striped.h"

__kernel void viterbi_trace(__global const uchar *codes, __global const int *offsets, const uint n,
                            __global const ints *transitions, __global const ints *delete_prefix,
                            __global const ints *emissions, __constant const int *special,
                            __global int *next, __global uchars *cells, __global uchar *flags, __global int *exits,
                            __global int *steps, __global uchar *possible)
{
    ints m[VECTORS], i[VECTORS], d[VECTORS];
    for (uint row = atomic_inc(next); row < n; row = atomic_inc(next)) {
        const int start = offsets[row], length = offsets[row + 1] - start;
        const size_t base = (size_t)start + row;
        plan7_specials_t s = plan7_specials_at_start(special);
        for (int q = 0; q < VECTORS; q++) m[q] = i[q] = d[q] = (ints)(IMPOSSIBLE);
        flags[base] = FLAGS_AT_START;
        exits[base] = 0;
        for (int x = 0; x < length; x++) {
            __global const ints *emission = emissions + (size_t)codes[start + x] * VECTORS * 2;
            const int e = striped_row(m, i, d, s.b, transitions, delete_prefix, emission,
                                      cells + (size_t)(start + x) * VECTORS, exits + base + x + 1);
            const plan7_specials_t after = plan7_specials_after(s, e, special);
            flags[base + x + 1] = special_flags(s, after, e, special);
            s = after;
        }
        possible[row] = traceback(length, (__global const uchar *)(cells + (size_t)start * VECTORS), LANES, VECTORS,
                                  flags + base, exits + base, steps + start);
    }
}
