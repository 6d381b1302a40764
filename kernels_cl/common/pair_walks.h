/* From the best scores of all blocks to the best alignments, one pair a lane (needs common/pair_blocks.h). */

#define N_CODES 32

/* One group: the letters of its pairs, and all edges. */
typedef struct {
    int rows, columns; /* blocks */
    __global scores_t *query, *target;
    __global edge_t *above; /* [rows + 1][1 + columns * BLOCK]: the first one is left of the first column */
    __global edge_t *left;  /* [columns + 1][rows * BLOCK] */
    __global scores_t *best; /* [rows][columns] */
} group_t;

/* What one block is computed from where every lane has its own, and its directions. */
typedef struct {
    __global scores_t *query, *target, *table, *cells;
    __global edge_t *above, *left;
    scores_t corner, last_row, last_column;
} slots_t;

/* One pair on the way back. */
typedef struct {
    int m, n;           /* its lengths */
    int a, b;           /* the block at hand */
    path_t path;        /* its end as far as it is known, then where it has come to */
    int is_walking;
    int sum, row;       /* the next block that may hold the end: its number of anti-diagonal and of row */
    int end_i, end_j;
} walk_t;

#define ABOVE(group, a, j) ((group)->above + (size_t)(a) * ((group)->columns * BLOCK + 1) + (j))
#define LEFT(group, b, i) ((group)->left + (size_t)(b) * (group)->rows * BLOCK + (i))
#define OF_LANE(vectors, lane) ((__global score_t *)(vectors) + (lane))

/* Set the lane's next block that may hold the end; returns 0 if there is none before the one that is known. */
CALL int next_block(walk_t *w, const group_t *group, int lane, score_t best)
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
            if (OF_LANE(group->best + w->a * group->columns + w->b, lane)[0] == best) {
                w->row++;
                return 1;
            }
        }
    }
    return 0;
#endif
}

/* Copy what a lane's block is computed from. */
CALL void gather(const walk_t *w, const group_t *group, slots_t *slots, int lane)
{
    const int i = w->a * BLOCK, j = w->b * BLOCK;
    __global const score_t *query = OF_LANE(group->query + i, lane), *target = OF_LANE(group->target + j, lane);
    __global const score_t *above = OF_LANE(ABOVE(group, w->a, j + 1), lane), *left = OF_LANE(LEFT(group, w->b, i), lane);
    for (int k = 0; k < BLOCK; k++) {
        OF_LANE(slots->query + k, lane)[0] = query[k * LANES];
        OF_LANE(slots->target + k, lane)[0] = target[k * LANES];
    }
    for (int k = 0; k < 2 * BLOCK; k++) {
        OF_LANE(slots->above, lane)[k * LANES] = above[k * LANES];
        OF_LANE(slots->left, lane)[k * LANES] = left[k * LANES];
    }
    slots->corner[lane] = OF_LANE(ABOVE(group, w->a, j), lane)[0];
    slots->last_row[lane] = (score_t)min(w->m - 1 - i, BLOCK);
    slots->last_column[lane] = (score_t)min(w->n - 1 - j, BLOCK);
}

/* Walk back through the block at hand; returns 1 if the path goes on in another one. */
CALL int walk_block(walk_t *w, __global const score_t *cells)
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
CALL int advance(walk_t *w, const group_t *group, const slots_t *slots, const end_t *end, score_t best, int lane)
{
    if (!w->is_walking) {
        if (end->diagonal[lane] != HIGHEST) {
            const int i = w->a * BLOCK + end->row[lane] + 1, sum = (w->a + w->b) * BLOCK + end->diagonal[lane] + 2;
            if (!w->path.i || sum < w->path.i + w->path.j || sum == w->path.i + w->path.j && i < w->path.i) {
                w->path.i = i;
                w->path.j = sum - i;
            }
        }
        const int a = w->a, b = w->b;
        if (next_block(w, group, lane, best)) return 1;
        w->is_walking = 1;
        w->end_i = w->path.i;
        w->end_j = w->path.j;
        w->a = (w->path.i - 1) / BLOCK;
        w->b = (w->path.j - 1) / BLOCK;
        if (w->a != a || w->b != b) return 1;
    }
    return walk_block(w, OF_LANE(slots->cells, lane));
}
