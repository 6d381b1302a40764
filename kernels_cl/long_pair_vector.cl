/* Smith-Waterman of one long pair, for CPUs: tiles of STRIP rows and `columns` columns, by anti-diagonals.

   A work-item is a core and takes a tile column by column. The rows of a tile lie striped over vectors: row
   lane * VECTORS + v sits in lane `lane` of vector v, so that a column reads the scores of its letter vector by vector.
   Gaps down a column run through the rows of each lane; what leaves a lane enters the next one only where it can
   change a cell there, which is seldom so where nothing is alike. Scores of a tile are kept less that of its corner.

   Recurrences and order of ties: clalign/reference/smith_waterman_trace.py.

   Buffers: those of long_pair_lanes.cl, but
     query             not used
     scores            char[strips of all the query][N_LETTERS][VECTORS][LANES]: what rows score with each letter
     top_in, left_in   the first row of the region begins a strip of the query
     left              int2[m]
     best              int[3][n_strips + n_tiles], 0 at first: highest score, sum of its places, its row; of the tiles
                       of each strip and of those of each column, and of all that were known when they were filled
     progress          not used

   Macros: see common/long_pair_vectors.h; TRACED 1 builds `trace`, for regions with tiles of TRACED_COLUMNS of which
   all edges are kept.

   Geometry: one work-item a core, work-groups of 1; to trace, one. Further work-items of a group have nothing to do. */

#include "common/long_pair_vectors.h"

#if TRACED

/* Fill the cells of a tile up to column `n`. */
CALL void trace_tile(const part_t *g, int strip, int tile, int n, __local marks *kept)
{
    const int row = strip * STRIP, column = tile * g->columns;
    __global const int2 *above = strip ? g->kept_rows + (size_t)(strip - 1) * g->plan[ROW_STRIDE] : g->top_in;
    __global const int2 *before = tile ? g->kept_columns + (size_t)(tile - 1) * g->plan[COLUMN_STRIDE] : g->left_in;
    __global const striped_bytes *scores = scores_of(g, strip);
    const vector_costs_t c = striped_costs_of(&g->costs, above[column].x);
    column_t s, next;
    striped_load_left(&s, before + row + 1, g->m - row, above[column].x);
    for (int j = 0; j < n; j++) {
        __global const striped_bytes *of_letter = scores + g->target[column + j] * VECTORS;
        __local marks *cells = kept + j * VECTORS;
        const number_striped_t entering = less_base(above[column + j + 1].y, s.base);
        tile_numbers diagonal = LANES_UP_1(s.h.v[VECTORS - 1]), gap = NONE, highest;
        diagonal.s0 = above[column + j].x - s.base;
        gap.s0 = entering;
        gap = between_lanes(take_column(&s, &next, of_letter, diagonal, gap, &c, &highest, cells), &c);
        gap.s0 = entering;
        take_column(&s, &next, of_letter, diagonal, gap, &c, &highest, cells);
        s.h = next.h, s.e = next.e;
    }
}

/* Follow a path back through a tile; returns 0 where the alignment begins. */
CALL int walk_tile(path_t *path, __local const uchar *kept, int row, int column)
{
    while (path->i > row && path->j > column) {
        const int r = path->i - 1 - row, j = path->j - 1 - column;
        if (!step_back(path, kept[j * STRIP + r % VECTORS * LANES + r / VECTORS])) return 0;
    }
    return 1;
}

__kernel void trace(PART_PARAMETERS, const int i, const int j, const int gap, __global int *path,
                    __global uchar *letters)
{
    __local marks kept[TRACED_COLUMNS * VECTORS];
    const part_t g = part_of(PART);
    __global uchar *const last = letters + g.m + g.n;
    path_t p = {i, j, gap, last};
    int goes_on = 1;
    while (goes_on && p.i > 0 && p.j > 0) {
        const int strip = (p.i - 1) / STRIP, tile = (p.j - 1) / g.columns, column = tile * g.columns;
        trace_tile(&g, strip, tile, p.j - column, kept);
        goes_on = walk_tile(&p, (__local const uchar *)kept, strip * STRIP, column);
    }
    path[PATH_ROW] = p.i, path[PATH_COLUMN] = p.j, path[PATH_GAP] = p.gap;
    path[PATH_ENDS] = !goes_on, path[PATH_LETTERS] = last - p.letters;
}

#else

/* The best cell so far: its score, the sum of its places, and its row. */
typedef struct { int score, sum, row; } best_t;

/* Whether a cell comes before another one: of equal scores that with the least sum of places, then the first row. */
CALL int is_better(const best_t *a, const best_t *b)
{
    if (a->score != b->score) return a->score > b->score;
    return a->sum != b->sum ? a->sum < b->sum : a->row < b->row;
}

/* Keep the best of a column, in which the first of equal scores has the least sum, if it is better. */
CALL void striped_keep_best(best_t *best, const column_t *s, int row, int column)
{
    int score = 0, first = 0;
#pragma unroll 1
    for (int r = 0; r < STRIP; r++)
        if (ROW_LANE(s->h, r) + s->base > score) score = ROW_LANE(s->h, r) + s->base, first = r;
    const best_t found = {score, row + first + column, row + first};
    if (is_better(&found, best)) *best = found;
}

CALL best_t read_best(__global const int *best, int at, int n)
{
    return (best_t){best[at], best[n + at], best[2 * n + at]};
}

CALL void write_best(__global int *best, int at, int n, const best_t *b)
{
    best[at] = b->score, best[n + at] = b->sum, best[2 * n + at] = b->row;
}

/* What a gap may be worth that enters a row and changes nothing there nor below. */
CALL tile_numbers idle_gap(const column_t *s, int v, const vector_costs_t *c)
{
    const tile_numbers idle = s->h.v[v] - (c->first - c->next_one);
    return LOCAL ? LARGER(idle, c->zero) : idle;
}

/* Let what leaves the lanes downwards, which is `leaving` without what enters them, go on through those below, as far
   as it changes something. Return what leaves each. */
CALL tile_numbers go_on_down(column_t *s, tile_numbers leaving, const vector_costs_t *c)
{
    tile_numbers gap = between_lanes(leaving, c);
    for (int v = 0; v < VECTORS; v += 4) {
        if (!striped_any_lane(gap > idle_gap(s, v, c))) return leaving;
#pragma unroll
        for (int k = v; k < v + 4; k++) {
            const tile_numbers h = LARGER(s->h.v[k], gap), right = h - c->first;
            s->h.v[k] = h;
            s->e.v[k] = LARGER(s->e.v[k], right);
            gap -= c->next_one;
        }
    }
    return LARGER(gap, leaving);
}

/* Take the columns of a tile; return the score above its last one. */
CALL int striped_take_columns(const part_t *g, column_t *s, int strip, int column, int n, int corner,
                      GROUPS_SHARE const int2 *above, GROUPS_SHARE int2 *below, __global int2 *also,
                      __global int *last_row, best_t *best)
{
    const vector_costs_t c = striped_costs_of(&g->costs, s->base);
    const int base = s->base, last = g->m - 1 - strip * STRIP;
    __global const striped_bytes *scores = scores_of(g, strip);
    __global const uchar *letters = g->target + column;
    const int row = g->plan[FIRST_ROW] + strip * STRIP + 1, from = g->plan[FIRST_COLUMN] + column + 1;
    for (int j = 0; j < n; j++) {
        tile_numbers diagonal = LANES_UP_1(s->h.v[VECTORS - 1]), gap = NONE, highest;
        diagonal.s0 = corner - base;
        gap.s0 = less_base(above[j].y, base);
        corner = above[j].x;
        gap = take_column(s, s, scores + letters[j] * VECTORS, diagonal, gap, &c, &highest, 0);
        const tile_numbers goes_on = LANES_UP_1(gap) > idle_gap(s, 0, &c);
        const tile_numbers is_best = highest >= NUMBERS(less_base(best->score + (row + from + j > best->sum), base));
        if (striped_any_lane(LOCAL ? goes_on | is_best : goes_on)) {
            if (striped_any_lane(goes_on)) gap = go_on_down(s, gap, &c);
            if (LOCAL && striped_any_lane(is_best)) striped_keep_best(best, s, row, from + j);
        }
        below[j] = (int2)(s->h.v[VECTORS - 1].sf + base, gap.sf + base);
        if (also) also[j] = below[j];
        if (last_row) last_row[j] = ROW_LANE(s->h, last) + base;
    }
    return corner;
}

CALL void take_tile(const part_t *g, const edges_t *e, int strip, int tile)
{
    const int row = strip * STRIP, column = tile * g->columns, n = min(g->columns, g->n - column);
    const int n_rows = min(STRIP, g->m - row), is_last = strip == g->n_strips - 1, every = g->plan[ROWS_EVERY];
    const int beside_every = g->plan[COLUMNS_EVERY], n_best = g->n_strips + g->n_tiles;
    __global int2 *also = (strip + 1) % every || is_last
                              ? 0
                              : g->kept_rows + (size_t)((strip + 1) / every - 1) * g->plan[ROW_STRIDE];
    GROUPS_SHARE const int2 *above = strip ? e->top + column : g->top_in + column + 1;
    const int corner = !strip ? g->top_in[column].x : tile ? e->corners[strip] : g->left_in[row].x;
    best_t best = read_best(e->best, strip, n_best);
    const best_t best_above = read_best(e->best, g->n_strips + tile, n_best);
    if (is_better(&best_above, &best)) best = best_above;
    column_t s;
    striped_load_left(&s, tile ? e->left + row : g->left_in + row + 1, n_rows, corner);
    if (also && tile == 0) also[0] = g->left_in[row + STRIP];
    e->corners[strip] = striped_take_columns(g, &s, strip, column, n, corner, above, e->top + column,
                                     also ? also + column + 1 : 0, !LOCAL && is_last ? e->last_row + column : 0, &best);
    if ((tile + 1) % beside_every == 0 && tile + 1 < g->n_tiles) {
        __global int2 *beside = g->kept_columns + (size_t)((tile + 1) / beside_every - 1) * g->plan[COLUMN_STRIDE];
        if (strip == 0) beside[0] = g->top_in[column + n];
        striped_store_right(&s, beside + row + 1, n_rows);
    }
    striped_store_right(&s, e->left + row, n_rows);
    if (LOCAL) {
        write_best(e->best, strip, n_best, &best);
        write_best(e->best, g->n_strips + tile, n_best, &best);
    }
}

__kernel void fill(__global const int *facts, volatile __global int *words, PART_PARAMETERS, GROUPS_SHARE int2 *top,
                   __global int2 *left, __global int *corners, __global int *best, __global int *last_row,
                   volatile __global int *progress, const int first, const int last)
{
    const part_t g = part_of(PART);
    const edges_t e = {top, left, corners, best, last_row};
    __local int flags[2];
    meeting_t meeting;
    if (!groups_gather(&meeting, facts, words, flags)) return;
    for (int diagonal = first; diagonal < last; diagonal++) {
        const int begin = max(0, diagonal - g.n_tiles + 1), end = get_local_id(0) ? -1 : min(diagonal, g.n_strips - 1);
        for (int strip = begin + meeting.group; strip <= end; strip += meeting.n)
            take_tile(&g, &e, strip, diagonal - strip);
        if (diagonal + 1 < last && !groups_meet(&meeting)) return;
    }
}

#endif
