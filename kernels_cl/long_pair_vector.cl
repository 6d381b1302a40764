/* Smith-Waterman of one long pair, for CPUs: tiles of STRIP rows and `columns` columns, by anti-diagonals.

   A work-item is a core and takes a tile column by column. The rows of a tile lie striped over vectors: row
   lane * VECTORS + v sits in lane `lane` of vector v, so that a column reads the scores of its letter vector by vector.
   Gaps down a column run through the rows of each lane; what leaves a lane enters the next one only where it can
   change a cell there, which is seldom so where nothing is alike. Scores of a tile are kept less that of its corner.

   Recurrences and order of ties: clalign/reference/smith_waterman_trace.py.

   Buffers
     query             not used
     target            uchar[], numbers of letters from 0
     scores            char[strips of all the query][N_LETTERS][VECTORS][LANES]: what rows score with each letter
     plan              int[N_PLAN], see common/long_pair_plan.h
     top_in, left_in   int2[], edges of the region from `TOP_AT`, `LEFT_AT`; its first row begins a strip of the query
     top               int2[n]: the lower edge of the last tile of each column
     left              int2[m]: the right edge of the last tile of each strip
     corners           int[n_strips]: the score above and before the next tile of each strip
     kept_rows         int2[][ROW_STRIDE]: lower edges of every `ROWS_EVERY`th strip
     kept_columns      int2[][COLUMN_STRIDE]: right edges of every `COLUMNS_EVERY`th tile
     best              int[3][n_strips + n_tiles], 0 at first: highest score, sum of its places, its row; of the tiles
                       of each strip and of those of each column, and of all that were known when they were filled
     last_row          int[n]: scores of the last row (LOCAL 0)
     progress          not used
     path              int[N_PATH], where the path that comes from i, j ends; letters uchar[m + n], filled from its end

     facts, words      see common/group_meetings.h

   Macros
     VECTORS         vectors of a column, a multiple of 4
     WIDTH           16 or 32: bits of what no score of a tile may be further from that of its corner
     LOCAL           1: no score is below 0
     TRACED          1: build `trace`, for regions with tiles of at most TRACED_COLUMNS of which all edges are kept
     SABOTAGE        1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; to trace, one. Further work-items of a group have nothing to do. */

#define LANES 16
#ifndef VECTORS
#define VECTORS 16
#endif
#define STRIP (LANES * VECTORS)
#ifndef WIDTH
#define WIDTH 16
#endif
#ifndef LOCAL
#define LOCAL 1
#endif
#ifndef TRACED
#define TRACED 0
#endif
#ifndef TRACED_COLUMNS
#define TRACED_COLUMNS 128
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/long_pair_plan.h"
#include "common/pair_directions.h"

#if WIDTH == 16
typedef short number_t;
#define LEAST_NUMBER (-32768)
#define MOST_NUMBER 32767
#define NO_GAP (-30000) /* what a gap is worth that does not come: costs can still be taken from it */
#else
typedef int number_t;
#define LEAST_NUMBER INT_MIN
#define MOST_NUMBER INT_MAX
#define NO_GAP (-(1 << 30))
#endif

typedef number_t numbers __attribute__((ext_vector_type(LANES)));
typedef char bytes __attribute__((ext_vector_type(LANES)));
typedef uchar marks __attribute__((ext_vector_type(LANES)));
#define SPLAT(u) ((numbers)((number_t)(u)))

/* Rows of a tile by number, in the lanes of vectors. */
typedef union { numbers v[VECTORS]; number_t lane[VECTORS][LANES]; } rows_t;
#define ROW(rows, r) (rows).lane[(r) % VECTORS][(r) / VECTORS]

/* Scores of a column, and the gaps that enter the next one, less `base`. */
typedef struct { rows_t h, e; int base; } column_t;

/* What gaps cost, and a score of 0 less the base. */
typedef struct { numbers first, next_one, zero; } vector_costs_t;

#define NONE SPLAT(NO_GAP)
#define UP_1(v) __builtin_shufflevector(v, NONE, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define UP_2(v) __builtin_shufflevector(v, NONE, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
#define UP_4(v) __builtin_shufflevector(v, NONE, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
#define UP_8(v) __builtin_shufflevector(v, NONE, 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7)

/* Whether a comparison is true in a lane. */
CALL int any_lane(numbers mask)
{
#if WIDTH == 16
    const long4 four = __builtin_astype(mask, long4);
#else
    const long4 four = __builtin_astype(mask.lo | mask.hi, long4);
#endif
    const long2 two = four.lo | four.hi;
    return (two.x | two.y) != 0;
}

/* A score less the base, or what is nearest to that. */
CALL number_t less_base(int score, int base)
{
#if WIDTH == 16
    const int least = LARGER(score - base, LEAST_NUMBER); /* CPU drivers call their built-in functions */
    return (number_t)(least > MOST_NUMBER ? MOST_NUMBER : least);
#else
    return score - base;
#endif
}

CALL vector_costs_t costs_of(const long_costs_t *c, int base)
{
    /* Where 0 is too far below the base for its numbers, no score of the tile is near it. */
    return (vector_costs_t){SPLAT(c->first), SPLAT(c->next_one), SPLAT(max(-base, NO_GAP))};
}

/* What enters the first row of each lane from the rows of all lanes above it, given what leaves each lane. */
CALL numbers between_lanes(numbers leaving, const vector_costs_t *c)
{
    const numbers across = c->next_one * SPLAT(VECTORS);
    numbers v = UP_1(leaving);
    if (LOCAL && !any_lane(v - across > c->zero)) return v; /* no gap outlasts the rows of a lane */
    v = LARGER(v, UP_1(v) - across);
    v = LARGER(v, UP_2(v) - across * SPLAT(2));
    v = LARGER(v, UP_4(v) - across * SPLAT(4));
    return LARGER(v, UP_8(v) - across * SPLAT(8));
}

/* The next column: `diagonal` has the scores above and before the first row of each lane, `gap` what enters it from
   above. Return what leaves each lane downwards. `highest` becomes the highest score of each lane that does not end in
   a gap downwards, as none of the highest of all does; `cells` gets what decides on the way back. */
CALL numbers take_column(const column_t *before, column_t *s, __global const bytes *scores, numbers diagonal,
                         numbers gap, const vector_costs_t *c, numbers *highest, __local marks *cells)
{
    numbers most = SPLAT(LEAST_NUMBER);
#pragma unroll 4
    for (int v = 0; v < VECTORS; v++) {
        const numbers paired = diagonal + __builtin_convertvector(scores[v], numbers), e = before->e.v[v];
        numbers h = LARGER(paired, e);
        if (LOCAL) h = LARGER(h, c->zero);
        most = LARGER(most, h);
        const numbers opening = (SABOTAGE ? h - SPLAT(1) : h) - c->first, entering = gap;
        gap = LARGER(entering - c->next_one, opening); /* to go on with a gap costs no more than to open another one */
        h = LARGER(h, entering);
        const numbers right = h - c->first, next = LARGER(e - c->next_one, right);
#if TRACED
        numbers cell = h == paired ? SPLAT(FROM_BOTH) : h == e ? SPLAT(FROM_TARGET) : SPLAT(FROM_QUERY);
        if (LOCAL) cell = h <= c->zero ? SPLAT(FROM_NOTHING) : cell;
        cell += next == right ? SPLAT(CELL_OPENS_TARGET) : SPLAT(0);
        cell += gap == right ? SPLAT(CELL_OPENS_QUERY) : SPLAT(0);
        cells[v] = __builtin_convertvector(cell, marks);
#endif
        diagonal = before->h.v[v];
        s->h.v[v] = h;
        s->e.v[v] = next;
    }
    *highest = most;
    return gap;
}

/* Take over the left edge of a tile. */
CALL void load_left(column_t *s, __global const int2 *edge, int n_rows, int base)
{
    s->base = base;
#pragma unroll 1
    for (int r = 0; r < STRIP; r++) {
        const int2 cell = edge[min(r, n_rows - 1)];
        ROW(s->h, r) = cell.x - base, ROW(s->e, r) = less_base(cell.y, base);
    }
}

CALL void store_right(const column_t *s, __global int2 *edge, int n_rows)
{
#pragma unroll 1
    for (int r = 0; r < n_rows; r++) edge[r] = (int2)(ROW(s->h, r) + s->base, ROW(s->e, r) + s->base);
}

CALL __global const bytes *scores_of(const part_t *g, int strip)
{
    const int at = g->plan[FIRST_ROW] / STRIP + strip;
    return (__global const bytes *)g->scores + (size_t)at * g->plan[N_LETTERS] * VECTORS;
}

#if TRACED

/* Fill the cells of a tile up to column `n`. */
CALL void trace_tile(const part_t *g, int strip, int tile, int n, __local marks *kept)
{
    const int row = strip * STRIP, column = tile * g->columns;
    __global const int2 *above = strip ? g->kept_rows + (size_t)(strip - 1) * g->plan[ROW_STRIDE] : g->top_in;
    __global const int2 *before = tile ? g->kept_columns + (size_t)(tile - 1) * g->plan[COLUMN_STRIDE] : g->left_in;
    __global const bytes *scores = scores_of(g, strip);
    const vector_costs_t c = costs_of(&g->costs, above[column].x);
    column_t s, next;
    load_left(&s, before + row + 1, g->m - row, above[column].x);
    for (int j = 0; j < n; j++) {
        __global const bytes *of_letter = scores + g->target[column + j] * VECTORS;
        __local marks *cells = kept + j * VECTORS;
        const number_t entering = less_base(above[column + j + 1].y, s.base);
        numbers diagonal = UP_1(s.h.v[VECTORS - 1]), gap = NONE, highest;
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

__kernel void trace(__global const uchar *query, __global const uchar *target, __global const char *scores,
                    __global const int *plan, __global const int2 *top_in, __global const int2 *left_in,
                    __global int2 *kept_rows, __global int2 *kept_columns, const int i, const int j, const int gap,
                    __global int *path, __global uchar *letters)
{
    __local marks kept[TRACED_COLUMNS * VECTORS];
    const part_t g = part_of(query, target, scores, plan, top_in, left_in, kept_rows, kept_columns);
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
CALL void keep_best(best_t *best, const column_t *s, int row, int column)
{
    int score = 0, first = 0;
#pragma unroll 1
    for (int r = 0; r < STRIP; r++)
        if (ROW(s->h, r) + s->base > score) score = ROW(s->h, r) + s->base, first = r;
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
CALL numbers idle_gap(const column_t *s, int v, const vector_costs_t *c)
{
    const numbers idle = s->h.v[v] - (c->first - c->next_one);
    return LOCAL ? LARGER(idle, c->zero) : idle;
}

/* Let what leaves the lanes downwards, which is `leaving` without what enters them, go on through those below, as far
   as it changes something. Return what leaves each. */
CALL numbers go_on_down(column_t *s, numbers leaving, const vector_costs_t *c)
{
    numbers gap = between_lanes(leaving, c);
    for (int v = 0; v < VECTORS; v += 4) {
        if (!any_lane(gap > idle_gap(s, v, c))) return leaving;
#pragma unroll
        for (int k = v; k < v + 4; k++) {
            const numbers h = LARGER(s->h.v[k], gap), right = h - c->first;
            s->h.v[k] = h;
            s->e.v[k] = LARGER(s->e.v[k], right);
            gap -= c->next_one;
        }
    }
    return LARGER(gap, leaving);
}

/* Take the columns of a tile; return the score above its last one. */
CALL int take_columns(const part_t *g, column_t *s, int strip, int column, int n, int corner,
                      GROUPS_SHARE const int2 *above, GROUPS_SHARE int2 *below, __global int2 *also,
                      __global int *last_row, best_t *best)
{
    const vector_costs_t c = costs_of(&g->costs, s->base);
    const int base = s->base, last = g->m - 1 - strip * STRIP;
    __global const bytes *scores = scores_of(g, strip);
    __global const uchar *letters = g->target + column;
    const int row = g->plan[FIRST_ROW] + strip * STRIP + 1, from = g->plan[FIRST_COLUMN] + column + 1;
    for (int j = 0; j < n; j++) {
        numbers diagonal = UP_1(s->h.v[VECTORS - 1]), gap = NONE, highest;
        diagonal.s0 = corner - base;
        gap.s0 = less_base(above[j].y, base);
        corner = above[j].x;
        gap = take_column(s, s, scores + letters[j] * VECTORS, diagonal, gap, &c, &highest, 0);
        const numbers goes_on = UP_1(gap) > idle_gap(s, 0, &c);
        const numbers is_best = highest >= SPLAT(less_base(best->score + (row + from + j > best->sum), base));
        if (any_lane(LOCAL ? goes_on | is_best : goes_on)) {
            if (any_lane(goes_on)) gap = go_on_down(s, gap, &c);
            if (LOCAL && any_lane(is_best)) keep_best(best, s, row, from + j);
        }
        below[j] = (int2)(s->h.v[VECTORS - 1].sf + base, gap.sf + base);
        if (also) also[j] = below[j];
        if (last_row) last_row[j] = ROW(s->h, last) + base;
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
    load_left(&s, tile ? e->left + row : g->left_in + row + 1, n_rows, corner);
    if (also && tile == 0) also[0] = g->left_in[row + STRIP];
    e->corners[strip] = take_columns(g, &s, strip, column, n, corner, above, e->top + column,
                                     also ? also + column + 1 : 0, !LOCAL && is_last ? e->last_row + column : 0, &best);
    if ((tile + 1) % beside_every == 0 && tile + 1 < g->n_tiles) {
        __global int2 *beside = g->kept_columns + (size_t)((tile + 1) / beside_every - 1) * g->plan[COLUMN_STRIDE];
        if (strip == 0) beside[0] = g->top_in[column + n];
        store_right(&s, beside + row + 1, n_rows);
    }
    store_right(&s, e->left + row, n_rows);
    if (LOCAL) {
        write_best(e->best, strip, n_best, &best);
        write_best(e->best, g->n_strips + tile, n_best, &best);
    }
}

__kernel void fill(__global const int *facts, volatile __global int *words, __global const uchar *query,
                   __global const uchar *target, __global const char *scores, __global const int *plan,
                   __global const int2 *top_in, __global const int2 *left_in, __global int2 *kept_rows,
                   __global int2 *kept_columns, GROUPS_SHARE int2 *top, __global int2 *left, __global int *corners,
                   __global int *best, __global int *last_row, volatile __global int *progress, const int first,
                   const int last)
{
    const part_t g = part_of(query, target, scores, plan, top_in, left_in, kept_rows, kept_columns);
    const edges_t e = {top, left, corners, best, last_row};
    __local int told[2];
    meeting_t meeting;
    if (!groups_gather(&meeting, facts, words, told)) return;
    for (int diagonal = first; diagonal < last; diagonal++) {
        const int begin = max(0, diagonal - g.n_tiles + 1), end = get_local_id(0) ? -1 : min(diagonal, g.n_strips - 1);
        for (int strip = begin + meeting.group; strip <= end; strip += meeting.n)
            take_tile(&g, &e, strip, diagonal - strip);
        if (diagonal + 1 < last && !groups_meet(&meeting)) return;
    }
}

#endif
