/* Smith-Waterman of one long pair, for GPUs: tiles of STRIP rows and `columns` columns, by anti-diagonals.

   A tile takes scores and gaps from the one above it and the one to its left, and leaves its own for those below and
   to the right. What is at some edges is kept, from where parts of the matrix can be computed again on the way back.
   The tiles of a strip that lie on the diagonals of a launch are computed in one go, a few columns behind the strip
   above (FOLLOWING 1), or one at a time, with a meeting of all groups after each diagonal.

   Edges are int2: a score, and the gap that enters the next cell. The first of an edge is that before the first column
   or row.

   Buffers
     query, target     uchar[], numbers of letters from 0
     scores            char[LETTERS][LETTERS], query by target
     plan              int[N_PLAN], see common/long_pair_regions.h
     top_in, left_in   int2[], edges of the region from `TOP_AT`, `LEFT_AT`
     top               int2[n]: the lower edge of the last tile of each column
     left              int2[m rounded up to strips]: the right edge of the last tile of each strip
     corners           int[n_strips]: the score above and before the next tile of each strip
     kept_rows         int2[][ROW_STRIDE]: lower edges of every `ROWS_EVERY`th strip
     kept_columns      int2[][COLUMN_STRIDE]: right edges of every `COLUMNS_EVERY`th tile
     best              int[3][n_strips][LANES], 0 at first: highest score of each lane, sum of its places, its row
     last_row          int[n]: scores of the last row (LOCAL 0)
     progress          int[n_strips][PROGRESS_LINE], 0 at first: columns of each strip that are done (FOLLOWING 1)
     path              int[N_PATH], where the path that comes from i, j ends; letters uchar[m + n], filled from its end

     facts, words      see common/group_barriers.h

   Macros: see common/long_pair.h, common/long_pair_columns.h and common/group_barriers.h.

   Geometry: work-groups of LANES, all of which run at once; to trace, one of them. */

#include "common/long_pair_columns.h"

#if TRACED

/* Fill the cells of a tile up to column `n`. */
CALL void trace_tile(const crew_t *team, const part_t *g, const strip_scores_t *of_rows, int strip, int tile, int n,
                     __local uchar *kept)
{
    const int row = strip * STRIP, column = tile * g->columns;
    __global const int2 *above = strip ? g->kept_rows + (size_t)(strip - 1) * g->plan[ROW_STRIDE] : g->top_in;
    __global const int2 *before = tile ? g->kept_columns + (size_t)(tile - 1) * g->plan[COLUMN_STRIDE] : g->left_in;
    lane_rows_t s;
    run_t r = {strip, column, n, above + column + 1, 0, 0, 0, 0, NEVER, 0, 0, 0, kept};
    load_left(team, &s, before + row + 1, above[column].x, g->m - row);
    take_columns(team, &s, g, of_rows, &r, 0, 0, 0);
}

/* Follow a path back through a tile; returns 0 where the alignment begins. */
CALL int walk_tile(path_t *path, __local const uchar *kept, int row, int column)
{
    while (path->i > row && path->j > column) {
        const int r = path->i - 1 - row, step = path->j - 1 - column + r / ROWS;
        if (!step_back(path, kept[(step * ROWS + r % ROWS) * LANES + r / ROWS])) return 0;
    }
    return 1;
}

__attribute__((reqd_work_group_size(LANES, 1, 1)))
__kernel void trace(PART_PARAMETERS, const int i, const int j, const int gap, __global int *path,
                    __global uchar *letters)
{
    __local uchar kept[(TRACED_COLUMNS + LANES) * STRIP];
    __local int now[4];
    const part_t g = part_of(PART);
    __global uchar *const last = letters + g.m + g.n;
    path_t p = {i, j, gap, last};
    strip_scores_t of_rows;
    __local int scratch[LANES];
    __local four_scores_t fours[LETTERS * (ROWS / 4) * LANES];
    const crew_t team = {get_local_id(0), scratch};
    of_rows.fours = fours;
    int goes_on = 1;
    while (goes_on && p.i > 0 && p.j > 0) {
        const int strip = (p.i - 1) / STRIP, tile = (p.j - 1) / g.columns, column = tile * g.columns;
        TEAM_MEETS;
        load_scores(&team, &of_rows, g.query, strip * STRIP, g.m, g.scores);
        TEAM_MEETS;
        trace_tile(&team, &g, &of_rows, strip, tile, p.j - column, kept);
        TEAM_MEETS;
        if (HAS_FIRST_LANE(&team)) {
            now[3] = walk_tile(&p, kept, strip * STRIP, column);
            now[0] = p.i, now[1] = p.j, now[2] = p.gap;
        }
        TEAM_MEETS;
        p.i = now[0], p.j = now[1], p.gap = now[2], goes_on = now[3];
    }
    if (HAS_FIRST_LANE(&team)) {
        path[PATH_ROW] = p.i, path[PATH_COLUMN] = p.j, path[PATH_GAP] = p.gap;
        path[PATH_ENDS] = !goes_on, path[PATH_LETTERS] = last - p.letters;
    }
}

#else

/* Take tiles of a strip, one after the other; those above them of the strip above are done up to diagonal `first`.
   Return 0 if it is not known when others are. */
CALL int take_run(const crew_t *team, const part_t *g, const edges_t *e, const strip_scores_t *of_rows, int strip,
                  int tile, int end, meeting_t *meeting, volatile __global int *progress, int first)
{
    const int row = strip * STRIP, column = tile * g->columns, n = min(end * g->columns, g->n) - column;
    const int n_rows = min(STRIP, g->m - row), is_last = strip == g->n_strips - 1, every = g->plan[ROWS_EVERY];
    const int beside_every = g->plan[COLUMNS_EVERY] * g->columns, beside = column / beside_every;
    const size_t kept = (strip + 1) / every;
    __global int2 *also =
        (strip + 1) % every == 0 && !is_last ? g->kept_rows + (kept - 1) * g->plan[ROW_STRIDE] : 0;
    const int corner = !strip ? g->top_in[column].x : tile ? e->corners[strip] : g->left_in[row].x;
    lane_rows_t s;
    run_t r = {strip, column, n, strip ? e->top + column : g->top_in + column + 1, e->top + column,
               also ? also + column + 1 : 0, !LOCAL && is_last ? e->last_row : 0,
               g->kept_columns + (size_t)beside * g->plan[COLUMN_STRIDE] + 1,
               (beside + 1) * beside_every - 1 - column, beside_every, g->plan[FIRST_ROW] + row + 1,
               g->plan[FIRST_COLUMN] + column + 1, 0};
    if (r.beside_at >= min(n, g->n - 1 - column)) r.beside_at = NEVER;
    load_left(team, &s, tile ? e->left + row : g->left_in + row + 1, corner, n_rows);
    if (LOCAL) load_best(team, &s, e->best, strip, g->n_strips);
    if (also && tile == 0 && HAS_FIRST_LANE(team)) also[0] = g->left_in[row + STRIP];
    const int seen = clamp((first - strip + 1) * g->columns, 0, g->n);
    if (!take_columns(team, &s, g, of_rows, &r, meeting, progress + strip * PROGRESS_LINE, seen)) return 0;
    store_right(team, &s, e->left + row, n_rows);
    if (HAS_FIRST_LANE(team)) e->corners[strip] = LANE_ZERO(s.corner);
    if (LOCAL) store_best(team, &s, e->best, strip, g->n_strips);
    return 1;
}

LANE_ATTRIBUTES __attribute__((reqd_work_group_size(LANES, 1, 1)))
__kernel void fill(__global const int *facts, volatile __global int *words, PART_PARAMETERS, GROUPS_SHARE int2 *top,
                   __global int2 *left, __global int *corners, __global int *best, __global int *last_row,
                   volatile __global int *progress, const int first, const int last)
{
    const part_t g = part_of(PART);
    const edges_t e = {top, left, corners, best, last_row};
    __local int flags[2];
    meeting_t meeting;
    strip_scores_t of_rows;
    __local int scratch[LANES];
    __local four_scores_t table[LETTERS * (ROWS / 4) * LANES];
    const crew_t team = {get_local_id(0), scratch};
    of_rows.fours = table;
    if (!groups_gather(&meeting, facts, words, flags)) return;
    const int together = FOLLOWING ? last - first : 1; /* diagonals that a strip goes through at once */
    for (int diagonal = first, loaded = -1; diagonal < last; diagonal += together) {
        const int begin = max(0, diagonal - g.n_tiles + 1);
        const int end = min(diagonal + together - 1, g.n_strips - 1);
        const int turn = (meeting.group - begin % meeting.n + meeting.n) % meeting.n; /* a strip stays with its group */
        for (int strip = begin + turn; strip <= end; strip += meeting.n) {
            TEAM_MEETS;
            if (strip != loaded) load_scores(&team, &of_rows, g.query, strip * STRIP, g.m, g.scores);
            loaded = strip;
            TEAM_MEETS;
            if (!take_run(&team, &g, &e, &of_rows, strip, max(0, diagonal - strip),
                          min(g.n_tiles, diagonal + together - strip), &meeting, progress, first))
                return;
        }
        if (!FOLLOWING && diagonal + 1 < last && !groups_meet(&meeting)) return;
    }
}

#endif
