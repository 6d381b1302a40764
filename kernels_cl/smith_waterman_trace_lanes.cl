/* The best alignments of pairs of sequences with their paths: the shape for GPUs.

   LANES work-items share a block of a pair's matrices: ROWS rows (residues of the query) each, by up to COLUMNS
   columns (of the target). Each lane is a column behind the one before, so that a shuffle brings what is above its
   first row. What goes into a block is at its edges: above it, for each column, the score and the best gap in the
   target that goes on into the row below; left of it, for each row, the score and the best gap in the query that
   goes on into the next column. Blocks of the same pair that do not wait for each other are done by one launch.

   Pairs of one block are traced at once. Of the others first all blocks are filled, which keeps nothing but the
   edges and the best end in each; then, again and again, the block where the path is gets its directions
   (TRACED 1), and `traceback` follows them to its border_score.

   The recurrence and the order of ties are those of clalign/reference/smith_waterman_trace.py.

   Buffers
     queries, targets  uchar[]            letter codes
     spans      int4[n]                   of each pair: first residue and length of query and target, both > 0
     bases      long[n][N_BASES]          where its edges above, its edges at the left, its ends, its directions begin
                                          in their buffers, and where its path ends in `paths`
     tasks      int2[n_tasks]             pair, and row of blocks
     wave       the blocks that are done: their numbers of row and column add up to this; or FOLLOW: the block of
                each pair where its path is
     matrix     char[N_CODES][N_CODES]    what letters score, query by target; below 0 beyond an end
     params      int[4]                    to be added: the first residue of a gap, a further one; the same of gaps
                                          before a sequence begins
     above, left  int2[]                  scratch: edges
     ends       int4[]                    scratch: of each block the best score in which an alignment may end, the
                                          first anti-diagonal with it, and the row there
     cells      uint[]                    scratch: directions, four bits a cell
     results    int[n][6]                 out: score, begin and end in query and target, columns of the path; on the
                                          way its begin is where it has come to
     gaps       int[n]                    scratch: the gap in which the path is, or IS_COMPLETE
     paths      uchar[]                   out: letters M, I and D

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     ROWS       of a lane, up to 32
     COLUMNS    most of a block
     GROUP      work-items a work-group, a multiple of LANES (LANES itself with LANE_BACKEND 0)
     ENDS       where alignments end: 0 anywhere, and no score is below 0; 1 where either sequence ends; 2 where both do
     TRACED     1 to write directions
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: `blocks`: LANES work-items a task, work-groups of GROUP; the others: a work-item a pair. */

#include "common/codes.h"
#include "common/lanes.h"
#include "common/pair_directions.h"

#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLUMNS
#define COLUMNS 1024
#endif
#ifndef GROUP
#define GROUP LANES
#endif
#ifndef ENDS
#define ENDS 0
#endif
#ifndef TRACED
#define TRACED 1
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define N_RESULTS 6
#define N_BASES 5
#define FOLLOW (-1)
#define IS_COMPLETE (-1)
#define STRIP_HEIGHT (ROWS * LANES)
#define DIRECTION_WORDS ((ROWS + 7) / 8)
#define NO_END (-(1 << 30))

enum { BASE_ABOVE, BASE_LEFT, BASE_ENDS, BASE_CELLS, BASE_PATH };

/* Where a block is, counted from 0, and how many the pair has. */
typedef struct { int a, b, n_rows, n_columns, width; } lane_block_t;

/* A lane: scores and gaps of its rows in the last column, where its letters are in the matrix, the score left of and
   above the next cell of its first row; the best end with its anti-diagonal and row, counted from 1. */
typedef struct {
    int h[ROWS], e[ROWS], query[ROWS];
    int corner, best, diagonal, row;
    uint may_end; /* the rows in which alignments end */
    uint words[DIRECTION_WORDS];
} trace_lane_t;

CALL lane_block_t block_at(int4 span, int a, int b)
{
    const lane_block_t block = {a, b, (span.y + STRIP_HEIGHT - 1) / STRIP_HEIGHT, (span.w + COLUMNS - 1) / COLUMNS,
                           min(COLUMNS, span.w - b * COLUMNS)};
    return block;
}

/* The score at a border_score k residues from the corner. */
CALL int border_score(int k, __constant const int *params)
{
    return k ? params[2] + (k - 1) * params[3] : 0;
}

/* What is above a column, counted from 0, of the first row of a block. */
CALL int2 edge_above(const lane_block_t *block, int column, int n, __global const int2 *above,
                     __constant const int *params)
{
    const int j = block->b * COLUMNS + min(column, block->width - 1);
    const int score = border_score(j + 1, params);
    return block->a ? above[(size_t)(block->a - 1) * n + j] : (int2)(score, score + params[0]);
}

/* Set a lane up at the left edge of a block, whose first row in this lane is row `first`, counted from 0. */
CALL void open_lane(trace_lane_t *s, const lane_block_t *block, int first, uint lane, int4 span,
                    __global const uchar *queries, __global const int2 *left, __constant const int *params)
{
    __global const int2 *edge = left + ((size_t)(block->b - 1) * block->n_rows + block->a) * STRIP_HEIGHT + lane;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int score = border_score(first + k + 1, params), is_letter = first + k < span.y;
        const int2 entering = block->b ? edge[k * LANES] : (int2)(score, score + params[0]);
        s->h[k] = entering.x;
        s->e[k] = entering.y;
        s->query[k] = (is_letter ? queries[span.x + first + k] : NO_CODE) * N_CODES;
    }
    s->best = NO_END;
    s->diagonal = s->row = 0;
    const int last = span.y - 1 - first;
    s->may_end = last >= 0 && last < ROWS ? 1u << last : 0;
}

/* One cell's direction. */
CALL uint direction(int v, int pair, int e, int opened, int next_e, int next_f)
{
    uint cell = v == pair ? FROM_BOTH : v == e ? FROM_TARGET : FROM_QUERY;
    if (ENDS == 0 && v == 0) cell = FROM_NOTHING;
    return cell | (next_e == opened ? CELL_OPENS_TARGET : 0) | (next_f == opened ? CELL_OPENS_QUERY : 0);
}

/* One column of a lane; `up` is what is above it, and so is what is returned for the lane below. */
CALL int2 next_column(trace_lane_t *s, __local const char *scores, int2 up, int first, int column, int n,
                      __constant const int *params)
{
    int diagonal = s->corner, f = up.y, best = NO_END;
    const uint may_end = column == n ? (ENDS == 1 ? (s->may_end << 1) - 1 : s->may_end) : ENDS == 1 ? s->may_end : 0;
    s->corner = up.x;
#pragma unroll
    for (int w = 0; w < DIRECTION_WORDS; w++) s->words[w] = 0;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int pair = diagonal + scores[s->query[k]], e = s->e[k];
        diagonal = s->h[k];
        int v = max(max(pair, e), SABOTAGE ? e : f);
        if (ENDS == 0) v = max(v, 0);
        const int opened = v + params[0];
        s->h[k] = v;
        s->e[k] = max(e + params[1], opened);
        f = max(f + params[1], opened);
        if (TRACED) s->words[k / 8] |= direction(v, pair, e, opened, s->e[k], f) << 4 * (k % 8);
        const int found = v * 32 + 31 - k; /* the first of equal ones is the greatest */
        best = max(best, ENDS == 0 || may_end >> k & 1 ? found : NO_END);
    }
    const int row = first + 32 - (best & 31), score = best >> 5;
    /* Of the same anti-diagonal the later column has the earlier row. */
    if (best != NO_END && (score > s->best || (score == s->best && row + column <= s->diagonal))) {
        s->best = score;
        s->diagonal = row + column;
        s->row = row;
    }
    return (int2)(s->h[ROWS - 1], f);
}

/* The best end of all lanes, in the order of ties. */
CALL int4 best_end(const trace_lane_t *s, uint lane, __local int *scratch)
{
    const int best = lane_max(s->best, lane, scratch);
    const int diagonal = -lane_max(s->best == best ? -s->diagonal : INT_MIN, lane, scratch);
    const int row = -lane_max(s->best == best && s->diagonal == diagonal ? -s->row : INT_MIN, lane, scratch);
    return (int4)(best, diagonal, row, 0);
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void blocks(__global const uchar *queries, __global const uchar *targets, __global const int4 *spans,
            __global const long *bases, __global const int2 *tasks, const uint n_tasks, const int wave,
            __global const char *matrix, __constant const int *params, __global int2 *above, __global int2 *left,
            __global int4 *ends, __global uint *cells, __global const int *results, __global const int *gaps)
{
    __local int lane_scratch[LANES];
    __local char scores[N_CODES * N_CODES];
    for (uint k = get_local_id(0); k < N_CODES * N_CODES; k += GROUP) scores[k] = matrix[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint lane = get_local_id(0) % LANES, place = get_global_id(0) / LANES;
    const int2 task = tasks[min(place, n_tasks - 1)];
    const int p = task.x;
    const int4 span = spans[p];
    __global const long *base = bases + (size_t)p * N_BASES;
    lane_block_t block = block_at(span, task.y, wave - task.y);
    int is_mine = place < n_tasks && block.b >= 0 && block.b < block.n_columns;
    if (wave == FOLLOW) {
        const int i = results[p * N_RESULTS + 1], j = results[p * N_RESULTS + 3];
        is_mine = place < n_tasks && task.y == 0 && gaps[p] != IS_COMPLETE;
        block = block_at(span, (i - 1) / STRIP_HEIGHT, (j - 1) / COLUMNS);
        block.width = j - block.b * COLUMNS;
    }
    if (!is_mine) block.a = block.b = block.width = 0;
    above += base[BASE_ABOVE];
    left += base[BASE_LEFT];
    cells += base[BASE_CELLS] + lane;
    const int first = block.a * STRIP_HEIGHT + (int)lane * ROWS, before = block.b * COLUMNS;
    trace_lane_t s;
    open_lane(&s, &block, first, lane, span, queries, left, params);
    const int is_inside = block.a && block.b, corner = is_inside ? above[(size_t)(block.a - 1) * span.w + before - 1].x
                                                                : border_score(max(block.a * STRIP_HEIGHT, before),
                                                                               params);
    s.corner = shuffle_up(s.h[ROWS - 1], 1, corner, lane, lane_scratch);
    int2 down = (int2)(0), entering = edge_above(&block, 0, span.w, above, params);
    const int n_steps = block.width ? block.width + LANES - 1 : 0;
    int column = -(int)lane;
    uint code = targets[span.z + before];
#pragma unroll 1
    for (int step = 0; step < n_steps; step++, column++) {
        int2 up;
        up.x = shuffle_up(down.x, 1, entering.x, lane, lane_scratch);
        up.y = shuffle_up(down.y, 1, entering.y, lane, lane_scratch);
        const uint letter = code;
        code = targets[span.z + before + clamp(column + 1, 0, block.width - 1)];
        entering = edge_above(&block, step + 1, span.w, above, params);
        if (column >= 0 && column < block.width) {
            down = next_column(&s, scores + letter, up, first, before + column + 1, span.w, params);
#pragma unroll
            for (int w = 0; w < DIRECTION_WORDS; w++)
                if (TRACED) cells[(size_t)(step * DIRECTION_WORDS + w) * LANES] = s.words[w];
            if (lane == LANES - 1 && block.a < block.n_rows - 1)
                above[(size_t)block.a * span.w + before + column] = down;
        }
    }
    const int4 end = best_end(&s, lane, lane_scratch);
    if (!is_mine || wave == FOLLOW) return;
    if (lane == 0) ends[base[BASE_ENDS] + block.a * block.n_columns + block.b] = end;
    if (block.b < block.n_columns - 1) {
        __global int2 *edge = left + ((size_t)block.b * block.n_rows + block.a) * STRIP_HEIGHT + lane;
#pragma unroll
        for (int k = 0; k < ROWS; k++) edge[k * LANES] = (int2)(s.h[k], s.e[k]);
    }
}

/* Choose the end of each alignment. */
__kernel void begin(__global const int4 *spans, __global const long *bases, const uint n, __global const int4 *ends,
                    __global int *results, __global int *gaps)
{
    const uint p = get_global_id(0);
    if (p >= n) return;
    const lane_block_t block = block_at(spans[p], 0, 0);
    const int count = block.n_rows * block.n_columns;
    __global const int4 *end = ends + bases[(size_t)p * N_BASES + BASE_ENDS];
    int4 best = end[count - 1];
    for (int k = 0; k < count - 1; k++) {
        const int4 other = end[k];
        const int is_earlier = other.y < best.y || (other.y == best.y && other.z < best.z);
        if (other.x > best.x || (other.x == best.x && is_earlier)) best = other;
    }
    const int is_none = ENDS == 0 && best.x <= 0;
    __global int *result = results + p * N_RESULTS;
    result[0] = best.x;
    result[1] = result[2] = is_none ? 0 : best.z;
    result[3] = result[4] = is_none ? 0 : best.y - best.z;
    result[5] = 0;
    gaps[p] = is_none ? IS_COMPLETE : 0;
}

/* Go back through the block where the path is. */
__kernel void traceback(__global const long *bases, const uint n, __global const uint *cells, __global int *results,
                   __global int *gaps, __global uchar *paths)
{
    const uint p = get_global_id(0);
    if (p >= n || gaps[p] == IS_COMPLETE) return;
    __global const long *base = bases + (size_t)p * N_BASES;
    __global int *result = results + p * N_RESULTS;
    path_t path = {result[1], result[3], gaps[p], paths + base[BASE_PATH] - result[5]};
    const int top = (path.i - 1) / STRIP_HEIGHT * STRIP_HEIGHT, before = (path.j - 1) / COLUMNS * COLUMNS;
    int goes_on = 1;
    cells += base[BASE_CELLS];
    while (goes_on && path.i > top && path.j > before) {
        const int row = path.i - 1 - top, lane = row / ROWS, k = row % ROWS, step = path.j - 1 - before + lane;
        goes_on = step_back(&path, cells[(size_t)(step * DIRECTION_WORDS + k / 8) * LANES + lane] >> 4 * (k % 8));
    }
    goes_on = goes_on && path.i && path.j;
    if (ENDS == 2 && !goes_on) step_out(&path);
    result[1] = path.i;
    result[3] = path.j;
    result[5] = (int)(paths + base[BASE_PATH] - path.letters);
    gaps[p] = goes_on ? path.gap : IS_COMPLETE;
}
