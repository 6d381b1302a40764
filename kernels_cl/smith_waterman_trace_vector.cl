/* The best alignments of pairs of sequences with their paths: the shape for CPUs.

   A work-item is a core and takes groups of LANES pairs, one a lane. It fills their matrices block by block
   (common/pair_blocks.h), from which it keeps the edges and the best score only. Then each lane goes its own
   way: blocks that hold the best score are computed again to find the end, and from there on those that the
   path crosses, with the directions in which to go back.

   The recurrence and the order of ties are those of clalign/reference/smith_waterman_trace.py.

   Buffers
     queries, targets  uchar[]             letter codes
     spans      int4[n]                    of each pair: first residue and length of query and target; 0 for none
     ends       long[n]                    where its path ends in `paths`
     n          number of pairs
     sizes      int2[groups]               blocks that the longest query and target of each group take
     next       uint[1]                    in: 0; the next group to be taken
     kinds      uchar[2][N_CODES]          number of each letter code in queries, in targets
     matrix     char[N_CODES][N_CODES]     what such numbers score, target by query; not used if EQUAL
     params      int[6]                     to be added: the first residue of a gap, a further one, equal letters,
                                           others; the same of gaps before a sequence begins
     most       the highest score that is exact
     scratch    room for `room` vectors of LANES scores for each work-item
     results    int[n][6]                  out: score, begin and end in query and target, begin of the path in `paths`
                                           counted back from where it ends; a score above `most` is not exact
     paths      uchar[]                    out: letters M, I and D

   Macros
     WIDTH, LANES                 see common/saturated.h
     BLOCK, ROWS, LINEAR, EQUAL, ENDS   see common/pair_blocks.h
     SABOTAGE                     1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1. */

#ifndef LANES
#define LANES 32
#endif
#include "common/pair_blocks.h"
#include "common/pair_layout.h"
#include "common/pair_letters.h"
#include "common/pair_traceback.h"

#define N_RESULTS 6
#define SPLAT(v) ((scores_t)((score_t)(v)))
#define SCORE_PARAMS {SPLAT(params[0]), SPLAT(params[1]), SPLAT(params[2]), SPLAT(params[3])}

/* Fill all matrices of a group; returns the best score of each lane. */
CALL scores_t fill_group(const group_t *group, const score_params_t *params, lane_slots_t *slots,
                         __global const char *matrix)
{
    scores_t best = (scores_t)(LOWEST);
    for (int a = 0; a < group->rows; a++) {
        for (int b = 0; b < group->columns; b++) {
            block_t block = block_of(slots);
#if EQUAL
            block.query = (__global const scores_t *)QUERY(group, a, 0);
            block.target = (__global const scores_t *)TARGET(group, b, 0);
#else
            for (int lane = 0; lane < LANES; lane++) {
                slots->query[lane] = QUERY(group, a, lane);
                slots->target[lane] = TARGET(group, b, lane);
            }
            look_up_block(slots->query, slots->target, matrix, slots->table);
#endif
            block.above = (__global const edge_t *)ABOVE(group, a, b * BLOCK + 1);
            block.below = (__global edge_t *)ABOVE(group, a + 1, b * BLOCK + 1);
            block.left = (__global const edge_t *)LEFT(group, b, a * BLOCK);
            block.right = (__global edge_t *)LEFT(group, b + 1, a * BLOCK);
            block.corner = *(__global const scores_t *)ABOVE(group, a, b * BLOCK);
            block.last_row = slots->last_row - (score_t)(a * BLOCK);
            block.last_column = slots->last_column - (score_t)(b * BLOCK);
            const scores_t found = fill_block(&block, params);
            *(__global scores_t *)BEST(group, a, b) = found;
            best = LARGER(best, found);
        }
    }
    return best;
}

/* Write what is known of a pair whose alignment is complete, or has no columns. */
CALL void write_result(const traceback_t *w, int score, __global const uchar *path_end, __global int *result)
{
    result[0] = score;
    result[1] = w->path.i;
    result[2] = w->end_i;
    result[3] = w->path.j;
    result[4] = w->end_j;
    result[5] = (int)(path_end - w->path.letters);
}

/* Trace the first n pairs of a group, whose best scores are known. */
CALL void trace_group(const group_t *group, const score_params_t *params, lane_slots_t *slots, scores_t best,
                      int most, int n, __global const int4 *spans, __global const char *matrix, __global uchar *paths,
                      __global const long *ends, __global int *results)
{
    traceback_t tracebacks[LANES];
    int is_active[LANES], n_active = 0;
    for (int lane = 0; lane < n; lane++) {
        traceback_t *w = tracebacks + lane;
        *w = (traceback_t){spans[lane].y, spans[lane].w, 0, 0, {0, 0, FROM_NOTHING, paths + ends[lane]}, 0, 0, 0, 0, 0};
        const int score = best[lane] - ZERO;
        is_active[lane] = w->m > 0;
        if (ENDS == 0 && (score <= 0 || score > most)) is_active[lane] = 0;
        if (is_active[lane]) is_active[lane] = next_end_block(w, group, lane, best[lane]);
        if (is_active[lane])
            gather(slots, lane, group, w->a, w->b, lane, w->m, w->n);
        else
            write_result(w, score, w->path.letters, results + lane * N_RESULTS);
        n_active += is_active[lane];
    }
    while (n_active) {
        end_t end = {best, NO_DIAGONAL, (scores_t)(0)};
        const block_t block = block_of(slots);
#if !EQUAL
        look_up_block(slots->query, slots->target, matrix, slots->table);
#endif
        trace_block(&block, params, slots->above, slots->cells, &end);
        for (int lane = 0; lane < n; lane++) {
            traceback_t *w = tracebacks + lane;
            if (!is_active[lane]) continue;
            if (ENDS == 2 && !w->is_tracing) best[lane] = end.score[lane];
            is_active[lane] = advance(w, group, slots, &end, best[lane], lane);
            if (is_active[lane]) {
                gather(slots, lane, group, w->a, w->b, lane, w->m, w->n);
                continue;
            }
            n_active--;
            write_result(w, best[lane] - ZERO, paths + ends[lane], results + lane * N_RESULTS);
        }
    }
}

__kernel void smith_waterman_trace(__global const uchar *queries, __global const uchar *targets,
                                   __global const int4 *spans, __global const long *ends, const uint n,
                                   __global const int2 *sizes, __global uint *next, __constant const uchar *kinds,
                                   __global const char *matrix, __constant const int *params, const int most,
                                   __global score_t *scratch, const ulong room, __global int *results,
                                   __global uchar *paths)
{
    const score_params_t of = SCORE_PARAMS;
    group_t group;
    lane_slots_t slots;
    for (uint g = atomic_inc(next); g * LANES < n; g = atomic_inc(next)) {
        __global const int4 *span = spans + g * LANES;
        const int count = min(n - g * LANES, (uint)LANES);
        __global score_t *rest = scratch + get_global_id(0) * room * LANES;
        rest = lay_out_group(&group, sizes[g].x, sizes[g].y, LANES, rest);
        lay_out_slots(&slots, rest);
        spread_group(&group, &slots, queries, targets, span, count, kinds);
        write_borders(&group, params);
        const scores_t best = fill_group(&group, &of, &slots, matrix);
        trace_group(&group, &of, &slots, best, most, count, span, matrix, paths, ends + g * LANES,
                    results + g * LANES * N_RESULTS);
    }
}
