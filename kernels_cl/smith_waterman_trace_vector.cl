/* The best alignments of pairs of sequences with their paths: the shape for CPUs.

   A work-item is a core and takes groups of LANES pairs, one a lane. It fills their matrices block by block
   (common/pair_blocks.h), from which it keeps the edges and the best score only. Then each lane goes its own
   way: blocks that hold the best score are computed again to find the end, and from there on those that the
   path crosses, with the directions in which to walk back.

   The recurrence and the order of ties are those of clalign/reference/smith_waterman_trace.py.

   Buffers
     queries, targets  uchar[]             letter codes
     spans      int4[n]                    of each pair: first residue and length of query and target, both > 0
     ends       long[n]                    where its path ends in `paths`
     n          number of pairs
     sizes      int2[groups]               blocks that the longest query and target of each group take
     next       uint[1]                    in: 0; the next group to be taken
     kinds      uchar[2][N_CODES]          number of each letter code in queries, in targets
     matrix     char[N_CODES][N_CODES]     what such numbers score, query by target; not used if EQUAL
     worth      int[6]                     to be added: the first residue of a gap, a further one, equal letters,
                                           others; the same of gaps before a sequence begins
     most       the highest score that is exact
     scratch    room for each work-item    `room` vectors
     results    int[n][6]                  out: score, begin and end in query and target, begin of the path in `paths`
                                           counted back from where it ends; a score above `most` is not exact
     paths      uchar[]                    out: letters M, I and D

   Macros
     WIDTH, LANES                 see common/saturated.h
     BLOCK, LINEAR, EQUAL, ENDS   see common/pair_blocks.h
     SABOTAGE                     1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1. */

#include "common/saturated.h"
#include "common/pair_directions.h"
#include "common/pair_blocks.h"
#include "common/pair_walks.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define NO_CODE 31 /* no letter; it stands after the end of a sequence */
#define N_RESULTS 6
#define SPLAT(v) ((scores_t)((score_t)(v)))

/* The part of the scratch memory that comes next. */
CALL __global scores_t *next_part(__global scores_t **scratch, size_t n)
{
    __global scores_t *part = *scratch;
    *scratch += n;
    return part;
}

/* The letters of one sequence in its lane, and what stands after its end. */
CALL void spread(__global const uchar *codes, int length, int room, __constant const uchar *kinds,
                 __global score_t *letters)
{
    for (int k = 0; k < room; k++) letters[k * LANES] = kinds[k < length ? codes[k] : NO_CODE];
}

/* The score at a border k residues from the corner. */
CALL score_t border(int k, __constant const int *worth)
{
    return (score_t)(k ? ZERO + worth[4] + (k - 1) * worth[5] : ZERO);
}

CALL void write_borders(const group_t *group, __constant const int *worth, scores_t first)
{
    for (int j = 0; j <= group->columns * BLOCK; j++) {
        __global edge_t *edge = ABOVE(group, 0, j);
        edge->score = (scores_t)(border(j, worth));
        edge->gap = SUM(edge->score, first);
    }
    for (int i = 0; i < group->rows * BLOCK; i++) {
        __global edge_t *edge = LEFT(group, 0, i);
        edge->score = (scores_t)(border(i + 1, worth));
        edge->gap = SUM(edge->score, first);
    }
    for (int a = 1; a <= group->rows; a++) ABOVE(group, a, 0)->score = (scores_t)(border(a * BLOCK, worth));
}

/* What the letters of a block score. */
CALL void look_up(__global const scores_t *query, __global const scores_t *target, __constant const char *matrix,
                  __global scores_t *table)
{
    for (int lane = 0; lane < LANES; lane++) {
        __global const score_t *t = (__global const score_t *)target + lane;
        for (int r = 0; r < BLOCK; r++) {
            __constant const char *row = matrix + (int)((__global const score_t *)(query + r))[lane] * N_CODES;
            __global score_t *scores = OF_LANE(table + r * BLOCK, lane);
            for (int c = 0; c < BLOCK; c++) scores[c * LANES] = row[t[c * LANES]];
        }
    }
}

/* Fill all matrices of a group; returns the best score of each lane. */
CALL scores_t fill_group(const group_t *group, const worth_t *worth, scores_t last_row, scores_t last_column,
                         __constant const char *matrix, __global scores_t *table)
{
    scores_t best = (scores_t)(LOWEST);
    for (int a = 0; a < group->rows; a++) {
        for (int b = 0; b < group->columns; b++) {
            block_t block;
            block.query = group->query + a * BLOCK;
            block.target = group->target + b * BLOCK;
            block.table = table;
            block.above = ABOVE(group, a, b * BLOCK + 1);
            block.below = ABOVE(group, a + 1, b * BLOCK + 1);
            block.left = LEFT(group, b, a * BLOCK);
            block.right = LEFT(group, b + 1, a * BLOCK);
            block.corner = ABOVE(group, a, b * BLOCK)->score;
            block.last_row = last_row - (score_t)(a * BLOCK);
            block.last_column = last_column - (score_t)(b * BLOCK);
#if !EQUAL
            look_up(block.query, block.target, matrix, table);
#endif
            const scores_t found = fill_block(&block, worth);
            group->best[a * group->columns + b] = found;
            best = LARGER(best, found);
        }
    }
    return best;
}

/* Write what is known of a pair whose alignment is complete, or has no columns. */
CALL void write_result(const walk_t *w, int score, __global const uchar *path_end, __global int *result)
{
    result[0] = score + SABOTAGE;
    result[1] = w->path.i;
    result[2] = w->end_i;
    result[3] = w->path.j;
    result[4] = w->end_j;
    result[5] = (int)(path_end - w->path.letters);
}

/* Trace the pairs of a group whose best scores are known. */
CALL void trace_group(const group_t *group, const worth_t *worth, slots_t *slots, scores_t best, int most, int n,
                      __global const int4 *spans, __constant const char *matrix, __global uchar *paths,
                      __global const long *ends, __global int *results)
{
    walk_t walks[LANES];
    int is_active[LANES], n_active = 0;
    for (int lane = 0; lane < n; lane++) {
        walk_t *w = walks + lane;
        *w = (walk_t){spans[lane].y, spans[lane].w, 0, 0, {0, 0, FROM_NOTHING, paths + ends[lane]}, 0, 0, 0, 0, 0};
        const int score = best[lane] - ZERO;
        is_active[lane] = (ENDS || (score > 0 && score <= most)) && next_block(w, group, lane, best[lane]);
        if (is_active[lane])
            gather(w, group, slots, lane);
        else
            write_result(w, score, w->path.letters, results + lane * N_RESULTS);
        n_active += is_active[lane];
    }
    while (n_active) {
        end_t end = {best, NO_DIAGONAL, (scores_t)(0)};
#if !EQUAL
        look_up(slots->query, slots->target, matrix, slots->table);
#endif
        const block_t block = {slots->query, slots->target, slots->table, slots->above, slots->left, 0, 0,
                               slots->corner, slots->last_row, slots->last_column};
        trace_block(&block, worth, slots->above, slots->cells, &end);
        for (int lane = 0; lane < n; lane++) {
            walk_t *w = walks + lane;
            if (!is_active[lane]) continue;
            if (ENDS == 2 && !w->is_walking) best[lane] = end.score[lane];
            is_active[lane] = advance(w, group, slots, &end, best[lane], lane);
            if (is_active[lane]) {
                gather(w, group, slots, lane);
                continue;
            }
            n_active--;
            write_result(w, best[lane] - ZERO, paths + ends[lane], results + lane * N_RESULTS);
        }
    }
}

/* Lay out the scratch memory for a group. */
CALL void lay_out(group_t *group, slots_t *slots, int2 size, __global scores_t *scratch)
{
    const size_t rows = size.x * BLOCK, columns = size.y * BLOCK;
    group->rows = size.x;
    group->columns = size.y;
    group->query = next_part(&scratch, rows);
    group->target = next_part(&scratch, columns);
    group->above = (__global edge_t *)next_part(&scratch, 2 * (size.x + 1) * (columns + 1));
    group->left = (__global edge_t *)next_part(&scratch, 2 * (size.y + 1) * rows);
    group->best = next_part(&scratch, (size_t)size.x * size.y);
    slots->query = next_part(&scratch, BLOCK);
    slots->target = next_part(&scratch, BLOCK);
    slots->above = (__global edge_t *)next_part(&scratch, 2 * BLOCK);
    slots->left = (__global edge_t *)next_part(&scratch, 2 * BLOCK);
    slots->cells = next_part(&scratch, BLOCK * BLOCK);
    slots->table = next_part(&scratch, BLOCK * BLOCK);
    slots->corner = slots->last_row = slots->last_column = (scores_t)(0);
}

__kernel void smith_waterman_trace(__global const uchar *queries, __global const uchar *targets,
                                   __global const int4 *spans, __global const long *ends, const uint n,
                                   __global const int2 *sizes, __global uint *next, __constant const uchar *kinds,
                                   __constant const char *matrix, __constant const int *worth, const int most,
                                   __global scores_t *scratch, const ulong room, __global int *results,
                                   __global uchar *paths)
{
    const worth_t of = {SPLAT(worth[0]), SPLAT(worth[1]), SPLAT(worth[2]), SPLAT(worth[3])};
    group_t group;
    slots_t slots;
    for (uint g = atomic_inc(next); g * LANES < n; g = atomic_inc(next)) {
        __global const int4 *span = spans + g * LANES;
        const int count = min(n - g * LANES, (uint)LANES);
        scores_t last_row = (scores_t)(-1), last_column = (scores_t)(-1);
        lay_out(&group, &slots, sizes[g], scratch + get_global_id(0) * room);
        for (int lane = 0; lane < LANES; lane++) {
            const int4 s = lane < count ? span[lane] : (int4)(0);
            spread(queries + s.x, s.y, group.rows * BLOCK, kinds, OF_LANE(group.query, lane));
            spread(targets + s.z, s.w, group.columns * BLOCK, kinds + N_CODES, OF_LANE(group.target, lane));
            last_row[lane] = (score_t)(s.y - 1);
            last_column[lane] = (score_t)(s.w - 1);
        }
        write_borders(&group, worth, of.first);
        const scores_t best = fill_group(&group, &of, last_row, last_column, matrix, slots.table);
        trace_group(&group, &of, &slots, best, most, count, span, matrix, paths, ends + g * LANES,
                    results + g * LANES * N_RESULTS);
    }
}
