/* From the best scores of all blocks to the best alignments, one pair a lane. */

#include "common/pair_blocks.h"

/* The letters of pairs and the edges of all their blocks. The pairs of a group stand side by side, so that each number
   of an edge is a vector of LANES; `stride` is 1 for a pair by itself. */
typedef struct {
    int rows, columns; /* blocks */
    int stride;
    __global letter_t *query, *target; /* see LETTERS */
    __global score_t *above; /* [rows + 1][1 + columns * BLOCK]: the first one is left of the first column */
    __global score_t *left;  /* [columns + 1][rows * BLOCK] */
    __global score_t *best;  /* [rows][columns] */
} group_t;

/* What one block is computed from where every lane has its own, and its directions. */
typedef struct {
#if EQUAL
    __global scores_t *query, *target;
#else
    __global const uchar *query[LANES], *target[LANES];
#endif
    __global scores_t *table, *cells;
    __global edge_t *above, *left, *right;
    scores_t corner, last_row, last_column;
} lane_slots_t;

/* One pair on the way back. */
typedef struct {
    int m, n;           /* its lengths */
    int a, b;           /* the block at hand */
    path_t path;        /* its end as far as it is known, then where it has come to */
    int is_tracing;
    int sum, row;       /* the next block that may hold the end: its number of anti-diagonal and of row */
    int end_i, end_j;
} traceback_t;

#define ABOVE(group, a, j) \
    ((group)->above + ((size_t)(a) * ((group)->columns * BLOCK + 1) + (j)) * 2 * (group)->stride)
#define LEFT(group, b, i) ((group)->left + ((size_t)(b) * (group)->rows * BLOCK + (i)) * 2 * (group)->stride)
#define BEST(group, a, b) ((group)->best + ((size_t)(a) * (group)->columns + (b)) * (group)->stride)
#define OF_LANE(vectors, lane) ((__global score_t *)(vectors) + (lane))

/* Letters are compared as vectors, or looked up sequence by sequence. */
#if EQUAL
#define LETTERS(letters, group, k, room, lane) ((letters) + (size_t)(k) * (group)->stride + (lane))
#define LETTER_STEP(group) ((group)->stride)
#else
#define LETTERS(letters, group, k, room, lane) ((letters) + (size_t)(lane) * (room) + (k))
#define LETTER_STEP(group) 1
#endif
#define QUERY(g, a, lane) LETTERS((g)->query, g, (a) * BLOCK, (g)->rows * BLOCK, lane)
#define TARGET(g, b, lane) LETTERS((g)->target, g, (b) * BLOCK, (g)->columns * BLOCK, lane)

/* Set the lane's next block that may hold the end; returns 0 if there is none before the one that is known. */
CALL int next_end_block(traceback_t *w, const group_t *group, int lane, score_t best)
{
#if ENDS == 2
    const int is_first = w->sum == 0;
    w->sum = 1;
    w->a = (w->m - 1) / BLOCK;
    w->b = (w->n - 1) / BLOCK;
    return is_first;
#else
    for (; w->sum < group->rows + group->columns - 1; w->sum++, w->row = 0) {
        if (w->path.i && w->sum * BLOCK + 2 > w->path.i + w->path.j) return 0;
        for (w->row = max(w->row, w->sum - group->columns + 1); w->row <= min(w->sum, group->rows - 1); w->row++) {
            w->a = w->row;
            w->b = w->sum - w->row;
            if (BEST(group, w->a, w->b)[lane] == best) {
                w->row++;
                return 1;
            }
        }
    }
    return 0;
#endif
}

/* Copy what block (a, b) of the lane is computed from; m and n are the lengths of its pair. */
CALL void gather(lane_slots_t *slots, int lane, const group_t *group, int a, int b, int from, int m, int n)
{
    const int i = a * BLOCK, j = b * BLOCK, stride = group->stride;
    __global const score_t *above = ABOVE(group, a, j + 1) + from, *left = LEFT(group, b, i) + from;
#if EQUAL
    for (int k = 0; k < BLOCK; k++) {
        OF_LANE(slots->query + k, lane)[0] = QUERY(group, a, from)[k * stride];
        OF_LANE(slots->target + k, lane)[0] = TARGET(group, b, from)[k * stride];
    }
#else
    slots->query[lane] = QUERY(group, a, from);
    slots->target[lane] = TARGET(group, b, from);
#endif
    for (int k = 0; k < 2 * BLOCK; k++) {
        OF_LANE(slots->above, lane)[k * LANES] = above[k * stride];
        OF_LANE(slots->left, lane)[k * LANES] = left[k * stride];
    }
    slots->corner[lane] = ABOVE(group, a, j)[from];
    slots->last_row[lane] = (score_t)min(m - 1 - i, BLOCK);
    slots->last_column[lane] = (score_t)min(n - 1 - j, BLOCK);
}

CALL block_t block_of(const lane_slots_t *slots)
{
    block_t block;
#if EQUAL
    block.query = slots->query;
    block.target = slots->target;
#endif
    block.table = slots->table;
    block.above = block.below = slots->above;
    block.left = slots->left;
    block.right = slots->right;
    block.corner = slots->corner;
    block.last_row = slots->last_row;
    block.last_column = slots->last_column;
    return block;
}

/* Go back through the block at hand; returns 1 if the path goes on in another one. */
CALL int traceback_block(traceback_t *w, __global const score_t *cells)
{
    const int top = w->a * BLOCK, left = w->b * BLOCK;
    path_t *path = &w->path;
    while (path->i > top && path->j > left)
        if (!step_back(path, cells[((path->i - 1 - top) * BLOCK + path->j - 1 - left) * LANES])) return 0;
    w->a = (path->i - 1) / BLOCK;
    w->b = (path->j - 1) / BLOCK;
    if (path->i && path->j) return 1;
    if (ENDS == 2) step_out(path);
    return 0;
}

/* What one lane does with its block; returns 0 when its alignment is complete. */
CALL int advance(traceback_t *w, const group_t *group, const lane_slots_t *slots, const end_t *end, score_t best,
                 int lane)
{
    if (!w->is_tracing) {
        if (end->diagonal[lane] != HIGHEST) {
            const int i = w->a * BLOCK + end->row[lane] + 1, sum = (w->a + w->b) * BLOCK + end->diagonal[lane] + 2;
            const int known = w->path.i + w->path.j;
            if (!w->path.i || sum < known || (sum == known && i < w->path.i)) {
                w->path.i = i;
                w->path.j = sum - i;
            }
        }
        const int a = w->a, b = w->b;
        if (next_end_block(w, group, lane, best)) return 1;
        w->is_tracing = 1;
        w->end_i = w->path.i;
        w->end_j = w->path.j;
        w->a = (w->path.i - 1) / BLOCK;
        w->b = (w->path.j - 1) / BLOCK;
        if (w->a != a || w->b != b) return 1;
    }
    return traceback_block(w, OF_LANE(slots->cells, lane));
}
