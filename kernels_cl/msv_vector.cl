/* MSV of HMMER3: any number of ungapped segments, in unsigned bytes, for CPUs.

   A work-item is a core; the model is striped over explicit vectors as in ssv_vector.cl. Every row
   needs its best cell, because it leads back to the begin of the model through J.

   Buffers
     codes     uchar[n_residues]            letter codes, sequence after sequence
     offsets   int[...]                     where each begins
     moves     uchar[...]                   by sequence: cost of leaving N, C and J
     lists     int[][stride]                by model, the sequences to be scored
     counts    uint[]                       how many there are
     models    model_t[n_models]            see common/models.h; 16 * parts >= M; numbers: cost from B to any node, bias
     tables    of each model uchar[N_CODES][vectors][16]  cost of each letter; 255 at nodes beyond it
     next      int[n_models]                in: 0; the next to be taken
     levels    uchar[][stride]              out: by model and place in its list, score of J at the end; 255 on overflow

   Rows with a number of vectors that is known to the compiler are no faster, so that one program serves models of all
   lengths.

   Macros
     VECTORS   vectors that there is room for, >= 1
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/models.h"
#include "common/msv.h"
#include "common/vectors.h"

#define COSTS_UP(v) __builtin_shufflevector(v, (uchar16)(0), 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)

int highest_cost(uchar16 v)
{
    const uchar8 eight = LARGER(v.lo, v.hi);
    const uchar4 four = LARGER(eight.lo, eight.hi);
    const uchar2 two = LARGER(four.lo, four.hi);
    return LARGER(two.x, two.y);
}

/* Take the cells through a residue; return the best of them. Compilers make one instruction each of the
   two saturated sums. */
int next_row(uchar16 *cells, const int vectors, const uchar16 begin, const uchar16 bias, __global const uchar16 *cost)
{
    uchar16 best = (uchar16)(0), left = COSTS_UP(cells[vectors - 1]);
    for (int q = 0; q < vectors; q++) {
        const uchar16 from = LARGER(left, begin);
        const uchar16 raised = (from < ~bias ? from : ~bias) + bias;
        left = SABOTAGE ? raised : cells[q];
        cells[q] = LARGER(raised, cost[q]) - cost[q];
        best = LARGER(best, cells[q]);
    }
    return highest_cost(best);
}

__kernel void msv_score(__global const uchar *codes, __global const int *offsets, __global const uchar *moves,
                        __global const int *lists, __global const uint *counts, const uint stride,
                        __global const model_t *models, const uint n_models, __global const uchar *tables,
                        __global int *next, __global uchar *levels)
{
    uchar16 cells[VECTORS];
    for (uint m = 0; m < n_models; m++) {
        const model_t model = models[m];
        const int enter = (int)model.numbers[0], bias = (int)model.numbers[1], vectors = model.parts;
        const uint first = model.number * stride, n = counts[model.number];
        __global const uchar16 *costs = TABLE_OF(uchar16, tables, model, 0);
        for (uint p = atomic_inc(next + m); p < n; p = atomic_inc(next + m)) {
            const int row = lists[first + p];
            __global const uchar *code = codes + offsets[row];
            __global const uchar *end = codes + offsets[row + 1];
            msv_specials_t s = msv_specials_at_start(moves[row], enter);
            for (int q = 0; q < vectors; q++) cells[q] = (uchar16)(0);
            for (; code < end && s.level < MSV_OVERFLOW; code++) {
                const int e =
                    next_row(cells, vectors, (uchar16)(s.begin), (uchar16)(bias), costs + (uint)*code * vectors);
                s = msv_specials_after(s, e, bias);
            }
            levels[first + p] = (uchar)s.level;
        }
    }
}
