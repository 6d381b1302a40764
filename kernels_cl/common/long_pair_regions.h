/* Lanes that take over and leave the edges of tiles (common/long_pair_plan.h). */

#include "common/long_pair.h"

/* Take over the left edge of a tile. */
CALL void load_left(const crew_t *team, lane_rows_t *s, __global const int2 *edge, int corner, int n_rows)
{
    each_lane_t u;
#pragma unroll
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
#pragma unroll
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
