/* Parts of the matrix of one long pair: the plan of a launch and the edges that it reads and writes.

   An edge is a row or column of int2: a score, and what the gap is worth that enters the next cell, along the target (to
   the right) or along the query (downwards). The first of an edge is that before the first column or row.

   Macros
     STRIP    rows of a tile
     LOCAL    1: no score is below 0
     TRACED   1: what decides on the way back is kept, see common/pair_directions.h
     SABOTAGE 1 plants a fault, for the test of the tests */

#ifndef STRIP
#define STRIP 128
#endif
#ifndef LOCAL
#define LOCAL 1
#endif
#ifndef TRACED
#define TRACED 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/group_barriers.h"
#include "common/vectors.h"

enum {
    ROWS_OF_REGION, COLUMNS_OF_REGION, TILE_COLUMNS, ROWS_EVERY, COLUMNS_EVERY, ROW_STRIDE, COLUMN_STRIDE, TOP_AT,
    LEFT_AT, FIRST_ROW, FIRST_COLUMN, GAP_FIRST, GAP_NEXT, N_LETTERS, BLOCK_COLUMNS, N_PLAN
};

typedef struct { int first, next_one; } long_costs_t;

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

enum { PATH_ROW, PATH_COLUMN, PATH_GAP, PATH_ENDS, PATH_LETTERS, N_PATH };

/* What the kernels begin with (see kernels_cl/long_pair_lanes.cl). */
#define PART_PARAMETERS                                                                         \
    __global const uchar *query, __global const uchar *target, __global const char *scores,     \
    __global const int *plan, __global const int2 *top_in, __global const int2 *left_in,        \
    __global int2 *kept_rows, __global int2 *kept_columns
#define PART query, target, scores, plan, top_in, left_in, kept_rows, kept_columns

CALL part_t part_of(PART_PARAMETERS)
{
    part_t g;
    g.m = plan[ROWS_OF_REGION], g.n = plan[COLUMNS_OF_REGION], g.columns = plan[TILE_COLUMNS];
    g.n_strips = (g.m + STRIP - 1) / STRIP, g.n_tiles = (g.n + g.columns - 1) / g.columns;
    g.query = query + plan[FIRST_ROW], g.target = target + plan[FIRST_COLUMN];
    g.scores = scores, g.plan = plan;
    g.top_in = top_in + plan[TOP_AT], g.left_in = left_in + plan[LEFT_AT];
    g.kept_rows = kept_rows, g.kept_columns = kept_columns;
    g.costs.first = plan[GAP_FIRST], g.costs.next_one = plan[GAP_NEXT];
    return g;
}
