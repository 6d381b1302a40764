/* Smith-Waterman of many pairs with linear gaps, one cell after the other: the laboratory's sequential program.

   One work-item does all pairs, row by row with whole matrices, as one core of a processor would: it fills them,
   looks for the best cell, the nearest to the top left, and goes back along its directions.

   Buffers
     queries, query_offsets, targets, target_offsets, query_rows, target_rows, ends, paths
                  as in smith_waterman_ladder_lanes.cl, of all pairs
     scores       int[height][width]      scratch; row and column 0 are 0
     directions   ushort[height][width]   scratch; row and column 0 are FROM_NOTHING

   Macros
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: one work-item. A launch does the pairs from first_pair to before end_pair. */

#include "common/linear_cells.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

__kernel void smith_waterman_ladder(__global const uchar *queries, __global const int *query_offsets,
                                    __global const uchar *targets, __global const int *target_offsets,
                                    __global const int *query_rows, __global const int *target_rows,
                                    const int match, const int mismatch, const int gap, const int height,
                                    const int width, __global int *scores, __global ushort *directions,
                                    __global int *ends, __global uchar *paths, const int first_pair,
                                    const int end_pair)
{
    for (int pair = first_pair; pair < end_pair; pair++) {
        const int query_row = query_rows[pair], target_row = target_rows[pair];
        const int m = query_offsets[query_row + 1] - query_offsets[query_row];
        const int n = target_offsets[target_row + 1] - target_offsets[target_row];
        __global const uchar *query = queries + query_offsets[query_row] - 1;
        __global const uchar *target = targets + target_offsets[target_row] - 1;
        __global int *end = ends + (size_t)pair * N_ENDS;
        int best = 0, best_i = 0, best_j = 0;
        for (int i = 1; i <= m; i++) {
            for (int j = 1; j <= n; j++) {
                const int cell = i * width + j, pair_score = query[i] == target[j] ? match : mismatch;
                ushort direction;
                const int score = linear_cell(scores[cell - width - 1], scores[cell - width], scores[cell - 1],
                                              pair_score, gap + SABOTAGE * (i & 1), &direction);
                scores[cell] = score;
                directions[cell] = direction;
                if (score > best || (score == best && i + j < best_i + best_j)) {
                    best = score;
                    best_i = i;
                    best_j = j;
                }
            }
        }
        end[END_SCORE] = best;
        end[END_I] = best_i;
        end[END_J] = best_j;
        linear_traceback(directions, width, best_i, best_j, paths + (size_t)pair * (height + width), height + width,
                         end);
    }
}
