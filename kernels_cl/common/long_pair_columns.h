/* Columns of a strip of the matrix of one long pair, one after the other, from its edges (common/long_pair_regions.h).

   Macros
     FOLLOWING  1: a strip goes on as far as the strip above it is, which another group has */

#include "common/group_followers.h"
#include "common/long_pair_regions.h"

#ifndef FOLLOWING
#define FOLLOWING 0
#endif

#define PROGRESS_LINE 8 /* words from one strip's to the next one's */
#define NEVER (1 << 30) /* a column that is not there */

/* What goes through a strip from column to column: letters a column before they are needed. */
typedef struct { numbers letters, lower, gap; } flow_t;

/* Columns of a strip, one after the other. */
typedef struct {
    int strip, column, n;           /* the first of n */
    GROUPS_SHARE const int2 *above; /* edge over them */
    GROUPS_SHARE int2 *below;       /* what goes on below them; not where TRACED */
    __global int2 *also;            /* the same again, or 0 */
    __global int *last_row;         /* scores of the last row, or 0 */
    __global int2 *beside;          /* right edge of column `beside_at`, from their first one */
    int beside_at, beside_every;    /* NEVER: none is kept, or no other one */
    int rows, columns;              /* of the matrix up to the first row and column, those included */
    __local uchar *kept;            /* what decides on the way back, where TRACED */
} run_t;

/* Columns that are read before they are needed: the edge above each, and the letters of each one's next. */
typedef struct { int2 above[AHEAD]; numbers letters[AHEAD]; } ahead_t;

CALL numbers read_letters(const crew_t *team, __global const uchar *letters, int column, int n)
{
    return letters[clamp(column - (int)team->lane, 0, n - 1)];
}

CALL void read_ahead(const crew_t *team, ahead_t *a, const run_t *r, __global const uchar *letters, int column,
                     const int is_within)
{
    const int lane = team->lane;
    GROUPS_SHARE const int2 *above = r->above + column;
    __global const uchar *own = letters + (column + 1 - lane);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        a->above[k] = is_within ? above[k] : r->above[min(column + k, r->n - 1)];
        a->letters[k] = is_within ? (numbers)(own[k]) : read_letters(team, letters, column + 1 + k, r->n);
    }
}

/* The letters of the lanes in the next column. */
CALL numbers next_letters(const crew_t *team, numbers before, numbers read)
{
    return read;
}

/* A step: every lane takes the column that the lane above it has just left. Return the highest score of each. */
CALL numbers take_step(const crew_t *team, lane_rows_t *s, flow_t *f, const numbers *scores, int2 above,
                       numbers inside, const int is_within, const long_costs_t *c, numbers *cells)
{
    const numbers upper = LANE_ABOVE(team, f->lower, above.x);
    f->gap = LANE_ABOVE(team, f->gap, above.y + c->first);
    const numbers highest = take_cells(s, scores, upper, &f->gap, c, inside, is_within, cells);
    f->lower = s->h[ROWS - 1];
    return highest;
}

#if TRACED

CALL void keep_cells(const crew_t *team, __local uchar *kept, const numbers *cells)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        each_lane_t u;
        u.v = cells[r];
        for (EACH_LANE(team, l)) kept[r * LANES + l] = AT_LANE(u, l);
    }
}

#endif

/* Keep the right edge of the rows of the lane that is `passing` it. */
CALL void keep_beside(const crew_t *team, const lane_rows_t *s, const run_t *r, int passing, int m)
{
    const int l = team->lane;
    if (l != passing) return;
#pragma unroll
    for (int q = 0; q < ROWS; q++) {
        const int row = r->strip * STRIP + l * ROWS + q;
        each_lane_t h, e;
        h.v = s->h[q], e.v = s->e[q];
        if (row == 0) r->beside[-1] = r->above[r->beside_at];
        if (row < m) r->beside[row] = (int2)(AT_LANE(h, l), AT_LANE(e, l));
    }
}

/* Look after what some steps, beginning with step `base`, have left: the scores of each, and the highest of them; and
   the last lane's lower edge. */
CALL void leave_steps(const crew_t *team, lane_rows_t *s, const run_t *r, numbers h[][ROWS], const numbers *highest,
                      const int2 *lower, int base, const int n_steps, const int is_within)
{
    const int done = base - (LANES - 1);
#if LOCAL
    numbers most = highest[0];
#pragma unroll
    for (int k = 1; k < n_steps; k++) most = LARGER(most, highest[k]);
    if (ANY_LANE(most >= s->best)) {
#pragma unroll
        for (int k = 0; k < n_steps; k++)
            keep_best(s, h[k], highest[k], (numbers)(r->rows) + LANE_NUMBERS(team) * ROWS,
                      (numbers)(r->columns + base + k) - LANE_NUMBERS(team));
    }
#endif
    if (HAS_LAST_LANE(team)) {
#pragma unroll
        for (int k = 0; k < n_steps; k++)
            if (is_within || (done + k >= 0 && done + k < r->n)) r->below[done + k] = lower[k];
        if (r->also) {
#pragma unroll
            for (int k = 0; k < n_steps; k++)
                if (is_within || (done + k >= 0 && done + k < r->n)) r->also[done + k] = lower[k];
        }
    }
}

/* AHEAD steps from step `base`; `scores` are those of the first, and then of the one after the last. Where nothing
   `passes`, no lane is at an edge that is kept. */
CALL void take_steps(const crew_t *team, lane_rows_t *s, const part_t *g, const strip_scores_t *of_rows,
                     const run_t *r, flow_t *f, const ahead_t *now, numbers *scores, int base,
                     const int is_within, const int passes)
{
    numbers h[AHEAD][ROWS], highest[AHEAD];
    int2 lower[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const numbers place = (numbers)(base + k) - LANE_NUMBERS(team), inside = (place >= 0) & (place < r->n);
        numbers cells[ROWS], of_next[ROWS];
        f->letters = next_letters(team, f->letters, now->letters[k]);
        find_scores(team, of_rows, f->letters, &g->costs, of_next);
        highest[k] = take_step(team, s, f, scores, now->above[k], inside, is_within, &g->costs, cells);
#pragma unroll
        for (int q = 0; q < ROWS; q++) scores[q] = of_next[q];
#if TRACED
        if (base + k < r->n + LANES - 1) keep_cells(team, r->kept + (base + k) * STRIP, cells);
#else
        lower[k] = (int2)(LAST_LANE(f->lower), LAST_LANE(f->gap) - g->costs.first);
        if (passes) keep_beside(team, s, r, base + k - r->beside_at, g->m);
        if (r->last_row)
            store_last_row(team, s, r->last_row + r->column, g->m - 1 - r->strip * STRIP, base + k, r->n);
#pragma unroll
        for (int q = 0; q < ROWS; q++) h[k][q] = s->h[q];
#endif
    }
#if !TRACED
    leave_steps(team, s, r, h, highest, lower, base, AHEAD, is_within);
#endif
}

/* Take columns of a strip. Where it follows another one, return 0 if that did not come. */
CALL int take_columns(const crew_t *team, lane_rows_t *s, const part_t *g, const strip_scores_t *of_rows, run_t *r,
                      meeting_t *meeting, volatile __global int *progress, int seen)
{
    __global const uchar *letters = g->target + r->column;
    const int n = r->n, last = n + LANES - 1, stride = g->plan[COLUMN_STRIDE];
    const int columns = FOLLOWING ? g->plan[BLOCK_COLUMNS] : last; /* until a strip signals its progress */
    flow_t f = {(numbers)(0), (numbers)(0), (numbers)(0)};
    ahead_t now, next;
    numbers scores[ROWS];
    for (int block = 0; block < last; block += columns) {
#if FOLLOWING
        const int done = block - (LANES - 1), goal = min(n, block + columns + AHEAD);
        if (!group_follows(meeting, progress, r->column + done, HAS_LAST_LANE(team) && done > 0,
                           r->strip ? progress - PROGRESS_LINE : 0, r->column + goal, &seen))
            return 0;
#endif
        if (block == 0) {
            read_ahead(team, &now, r, letters, 0, 0);
            f.letters = next_letters(team, f.letters, read_letters(team, letters, 0, n));
            find_scores(team, of_rows, f.letters, &g->costs, scores);
        }
        for (int base = block; base < min(block + columns, last); base += AHEAD) {
            if (base >= LANES - 1 && base + 2 * AHEAD < n) {
                read_ahead(team, &next, r, letters, base + AHEAD, 1);
                if (base + AHEAD <= r->beside_at)
                    take_steps(team, s, g, of_rows, r, &f, &now, scores, base, 1, 0);
                else
                    take_steps(team, s, g, of_rows, r, &f, &now, scores, base, 1, 1);
            } else {
                read_ahead(team, &next, r, letters, base + AHEAD, 0);
                take_steps(team, s, g, of_rows, r, &f, &now, scores, base, 0, 1);
            }
            if (base + AHEAD >= r->beside_at + LANES) {
                r->beside_at += r->beside_every, r->beside += stride;
                if (r->beside_at >= min(n, g->n - 1 - r->column)) r->beside_at = NEVER;
            }
            now = next;
        }
    }
#if FOLLOWING
    group_follows(meeting, progress, r->column + n, HAS_LAST_LANE(team), 0, 0, &seen);
#endif
    return 1;
}
