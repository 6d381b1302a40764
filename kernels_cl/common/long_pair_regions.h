/* Parts of the matrix of one long pair: their edges (common/long_pair.h). */

#include "common/group_meetings.h"
#include "common/long_pair.h"

enum {
    ROWS_OF_REGION, COLUMNS_OF_REGION, TILE_COLUMNS, ROWS_EVERY, COLUMNS_EVERY, ROW_STRIDE, COLUMN_STRIDE, TOP_AT,
    LEFT_AT, FIRST_ROW, FIRST_COLUMN, GAP_FIRST, GAP_NEXT, MATCH, MISMATCH, BLOCK_COLUMNS, N_PLAN
};

typedef struct {
    int m, n, columns, n_strips, n_tiles;
    __global const uchar *query, *target;
    __global const char *scores;
    __global const int *plan;
    __global const int2 *top_in, *left_in;
    __global int2 *kept_rows, *kept_columns;
    long_costs_t costs;
} part_t;

/* What a tile leaves, besides what is kept. */
typedef struct {
    GROUPS_SHARE int2 *top;
    __global int2 *left;
    __global int *corners, *best, *last_row;
} edges_t;

CALL part_t part_of(__global const uchar *query, __global const uchar *target, __global const char *scores,
                        __global const int *plan, __global const int2 *top_in, __global const int2 *left_in,
                        __global int2 *kept_rows, __global int2 *kept_columns)
{
    part_t g;
    g.m = plan[ROWS_OF_REGION], g.n = plan[COLUMNS_OF_REGION], g.columns = plan[TILE_COLUMNS];
    g.n_strips = (g.m + STRIP - 1) / STRIP, g.n_tiles = (g.n + g.columns - 1) / g.columns;
    g.query = query + plan[FIRST_ROW], g.target = target + plan[FIRST_COLUMN];
    g.scores = scores, g.plan = plan;
    g.top_in = top_in + plan[TOP_AT], g.left_in = left_in + plan[LEFT_AT];
    g.kept_rows = kept_rows, g.kept_columns = kept_columns;
    g.costs.first = plan[GAP_FIRST], g.costs.next_one = plan[GAP_NEXT];
    g.costs.match = plan[MATCH], g.costs.mismatch = plan[MISMATCH];
    return g;
}

/* Take over the left edge of a tile. */
CALL void load_left(const crew_t *team, lane_rows_t *s, __global const int2 *edge, int corner, int n_rows)
{
    each_lane_t u;
#if !VECTOR
#pragma unroll
#endif
    for (int r = 0; r < ROWS; r++) {
        each_lane_t h, e;
        for (EACH_LANE(team, l)) {
            const int2 cell = edge[min(l * ROWS + r, n_rows - 1)];
            AT_LANE(h, l) = cell.x, AT_LANE(e, l) = cell.y;
        }
        s->h[r] = h.v, s->e[r] = e.v;
    }
    for (EACH_LANE(team, l)) AT_LANE(u, l) = l ? edge[min(l * ROWS, n_rows) - 1].x : corner;
    s->corner = u.v;
}

CALL void store_right(const crew_t *team, const lane_rows_t *s, __global int2 *edge, int n_rows)
{
#if !VECTOR
#pragma unroll
#endif
    for (int r = 0; r < ROWS; r++) {
        each_lane_t h, e;
        h.v = s->h[r], e.v = s->e[r];
        for (EACH_LANE(team, l))
            if (l * ROWS + r < n_rows) edge[l * ROWS + r] = (int2)(AT_LANE(h, l), AT_LANE(e, l));
    }
}

CALL void load_best(const crew_t *team, lane_rows_t *s, __global const int *best, int strip, int n_strips)
{
    each_lane_t u, v, w;
    for (EACH_LANE(team, l)) {
        AT_LANE(u, l) = best[strip * LANES + l];
        AT_LANE(v, l) = best[(n_strips + strip) * LANES + l];
        AT_LANE(w, l) = best[(2 * n_strips + strip) * LANES + l];
    }
    s->best = u.v, s->best_sum = v.v, s->best_row = w.v;
}

CALL void store_best(const crew_t *team, const lane_rows_t *s, __global int *best, int strip, int n_strips)
{
    each_lane_t u, v, w;
    u.v = s->best, v.v = s->best_sum, w.v = s->best_row;
    for (EACH_LANE(team, l)) {
        best[strip * LANES + l] = AT_LANE(u, l);
        best[(n_strips + strip) * LANES + l] = AT_LANE(v, l);
        best[(2 * n_strips + strip) * LANES + l] = AT_LANE(w, l);
    }
}

/* The score of the last row of all, in a column of a lane. */
CALL void store_last_row(const crew_t *team, const lane_rows_t *s, __global int *last_row, int row, int step, int n)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        each_lane_t u;
        u.v = s->h[r];
        for (EACH_LANE(team, l))
            if (l * ROWS + r == row && step - l >= 0 && step - l < n) last_row[step - l] = AT_LANE(u, l);
    }
}
