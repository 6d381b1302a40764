/* Smith-Waterman of many pairs with linear gaps and its directions: the laboratory of one work-group a pair.

   The published ladder's rungs are this one source with other choices: independent macros. It is here to be
   measured, not to be fast: the program aligns pairs with smith_waterman_trace_lanes.cl and _vector.cl. The
   work-items of a group take the cells of an anti-diagonal, from its first row on: as the diagonals grow and
   shrink, each goes along a row and then down a column.

   Buffers
     queries, targets                uchar[n_residues]           letter codes, sequence after sequence
     query_offsets, target_offsets   int[n_sequences + 1]        where each begins
     query_rows, target_rows         int[n]                      the sequences of each pair
     scores       int[n][height][width]     in: 0; out: score of each cell; not touched if LOCAL_SCORES
     directions   ushort[n][height][width]  in: 0; out: FROM_* of each cell (common/linear_cells.h)
     ends         int[n][N_ENDS]            out, if DEVICE_MAXIMUM: the best cell, the nearest to the top left
     paths        uchar[n][height + width]  out, if DEVICE_PATH: the letters of the path, at the end of each row

   Macros
     LOCAL_SCORES    0 scores in global memory; 1 three diagonals of them in local memory
     DEVICE_MAXIMUM  1: the best cell is found here
     DEVICE_PATH     1: and the path that ends in it is followed here, by one work-item
     HEIGHT          at least `height`: room for a local diagonal
     GROUP           work-items a work-group, a power of 2
     SABOTAGE        1 plants a fault, for the test of the tests

   Geometry: a work-group of GROUP for each pair.
   Local memory: 12 * HEIGHT bytes with LOCAL_SCORES, 8 * GROUP with DEVICE_MAXIMUM. */

#include "common/linear_cells.h"

#ifndef LOCAL_SCORES
#define LOCAL_SCORES 1
#endif
#ifndef DEVICE_MAXIMUM
#define DEVICE_MAXIMUM 1
#endif
#ifndef DEVICE_PATH
#define DEVICE_PATH 0
#endif
#ifndef HEIGHT
#define HEIGHT 513
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#if LOCAL_SCORES
#define SCORE now[i]
#define SCORE_CORNER before[i - 1]
#define SCORE_ABOVE last[i - 1]
#define SCORE_LEFT last[i]
#define FENCE CLK_LOCAL_MEM_FENCE
#else
#define SCORE scores[cell]
#define SCORE_CORNER scores[cell - width - 1]
#define SCORE_ABOVE scores[cell - width]
#define SCORE_LEFT scores[cell - 1]
#define FENCE CLK_GLOBAL_MEM_FENCE
#endif

/* Cells in the order of their rank: the higher score, then the nearer to the top left. */
#define RANK(score, diagonal, i) ((ulong)(score) << 32 | (uint)~((uint)(diagonal) * HEIGHT + (uint)(i)))
#define PLACE_OF(rank) (~(uint)(rank))

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void smith_waterman_ladder(__global const uchar *queries, __global const int *query_offsets,
                           __global const uchar *targets, __global const int *target_offsets,
                           __global const int *query_rows, __global const int *target_rows, const int match,
                           const int mismatch, const int gap, const int height, const int width,
                           __global int *scores, __global ushort *directions, __global int *ends,
                           __global uchar *paths)
{
    const int own = get_local_id(0);
    const size_t pair = get_group_id(0), matrix = pair * height * width;
    const int query_row = query_rows[pair], target_row = target_rows[pair];
    const int m = query_offsets[query_row + 1] - query_offsets[query_row];
    const int n = target_offsets[target_row + 1] - target_offsets[target_row];
    queries += query_offsets[query_row] - 1; /* residues, like cells, count from 1 */
    targets += target_offsets[target_row] - 1;
    scores += LOCAL_SCORES ? 0 : matrix;
    directions += matrix;
#if LOCAL_SCORES
    __local int diagonals[3 * HEIGHT];
    __local int *now = diagonals, *last = diagonals + HEIGHT, *before = diagonals + 2 * HEIGHT;
    for (int i = own; i < 3 * HEIGHT; i += GROUP) diagonals[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    ulong best = 0;
    for (int diagonal = 2; diagonal <= m + n; diagonal++) {
        const int first = diagonal > n ? diagonal - n : 1, end = diagonal <= m ? diagonal - 1 : m;
        for (int i = first + own; i <= end; i += GROUP) {
            const int j = diagonal - i, cell = i * width + j;
            ushort direction;
            const int pair_score = queries[i] == targets[j] ? match : mismatch;
            const int score = linear_cell(SCORE_CORNER, SCORE_ABOVE, SCORE_LEFT, pair_score, gap + SABOTAGE * (i & 1),
                                          &direction);
            SCORE = score;
            directions[cell] = direction;
            if (DEVICE_MAXIMUM && score > 0) best = max(best, RANK(score, diagonal, i));
        }
        barrier(FENCE);
#if LOCAL_SCORES
        __local int *free = before;
        before = last;
        last = now;
        now = free;
#endif
    }
#if DEVICE_MAXIMUM
    __local ulong ranks[GROUP];
    ranks[own] = best;
    for (int apart = GROUP / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* the path is walked through what others wrote */
        if (own < apart) ranks[own] = max(ranks[own], ranks[own + apart]);
    }
    if (own > 0) return;
    best = ranks[0];
    const uint place = best ? PLACE_OF(best) : 0;
    ends += pair * N_ENDS;
    ends[END_SCORE] = (int)(best >> 32);
    ends[END_I] = place % HEIGHT;
    ends[END_J] = place / HEIGHT - place % HEIGHT;
#if DEVICE_PATH
    linear_traceback(directions, width, ends[END_I], ends[END_J], paths + pair * (height + width), height + width,
                     ends);
#endif
#endif
}
