/* Letters and edges of pairs in memory. */

#include "common/pair_letters.h"
#include "common/pair_traceback.h"

/* The part of the scratch memory that comes next. */
CALL __global score_t *next_part(__global score_t **scratch, size_t n)
{
    __global score_t *part = *scratch;
    *scratch += n;
    return part;
}

/* Lay out letters and edges of pairs side by side; returns what is left of the scratch memory. */
CALL __global score_t *lay_out_group(group_t *group, int rows, int columns, int stride, __global score_t *scratch)
{
    const size_t m = (size_t)rows * BLOCK, n = (size_t)columns * BLOCK;
    group->rows = rows;
    group->columns = columns;
    group->stride = stride;
    group->query = (__global letter_t *)next_part(&scratch, m * stride);
    group->target = (__global letter_t *)next_part(&scratch, n * stride);
    group->above = next_part(&scratch, 2 * (rows + 1) * (n + 1) * stride);
    group->left = next_part(&scratch, 2 * (columns + 1) * m * stride);
    group->best = next_part(&scratch, (size_t)rows * columns * stride);
    return scratch;
}

CALL void lay_out_slots(lane_slots_t *slots, __global score_t *scratch)
{
#if EQUAL
    slots->query = (__global scores_t *)next_part(&scratch, BLOCK * LANES);
    slots->target = (__global scores_t *)next_part(&scratch, BLOCK * LANES);
#endif
    slots->above = (__global edge_t *)next_part(&scratch, 2 * BLOCK * LANES);
    slots->left = (__global edge_t *)next_part(&scratch, 2 * BLOCK * LANES);
    slots->right = (__global edge_t *)next_part(&scratch, 2 * BLOCK * LANES);
    slots->cells = (__global scores_t *)next_part(&scratch, BLOCK * BLOCK * LANES);
    slots->table = (__global scores_t *)next_part(&scratch, BLOCK * BLOCK * LANES);
    slots->corner = slots->last_row = slots->last_column = (scores_t)(0);
}

/* Write the letters of a pair, and what stands after their ends. */
CALL void spread(const group_t *group, int lane, __global const uchar *query, __global const uchar *target, int4 span,
                 __constant const uchar *kinds)
{
    __global letter_t *q = QUERY(group, 0, lane), *t = TARGET(group, 0, lane);
    for (int k = 0; k < group->rows * BLOCK; k++)
        q[k * LETTER_STEP(group)] = kinds[k < span.y ? query[span.x + k] : NO_CODE];
    for (int k = 0; k < group->columns * BLOCK; k++)
        t[k * LETTER_STEP(group)] = kinds[N_CODES + (k < span.w ? target[span.z + k] : NO_CODE)];
}

#if SHUFFLES_LETTERS && EQUAL && WIDTH == 8

typedef char loose_bytes_t __attribute__((ext_vector_type(32), aligned(1)));

/* 32 letter codes, of which there are n. */
CALL bytes_t codes_at(__global const uchar *codes, int n)
{
    if (n >= 32) return *(__global const loose_bytes_t *)codes;
    bytes_t found = (bytes_t)(NO_CODE);
    for (int k = 0; k < n; k++) found[k] = codes[k];
    return found;
}

/* Write the letters of 16 lanes, and what stands after their ends, n in all. */
CALL void spread_lanes(__global const uchar *codes, const int *begins, const int *lengths,
                       __constant const uchar *kinds, int n, __global letter_t *letters)
{
    const bytes_t low = TWICE(((__constant const half_t *)kinds)[0]),
        high = TWICE(((__constant const half_t *)kinds)[1]);
    for (int i = 0; i < n; i += 32) {
        bytes_t found[16];
#pragma unroll
        for (int lane = 0; lane < 16; lane++)
            found[lane] = look_up_bytes(low, high, codes_at(codes + begins[lane] + i, lengths[lane] - i));
        transpose(found);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            *(__global half_t *)(letters + (i + k) * LANES) = found[k].lo;
            *(__global half_t *)(letters + (i + 16 + k) * LANES) = found[k].hi;
        }
    }
}

CALL void spread_letters(const group_t *group, __global const uchar *queries, __global const uchar *targets,
                         const int4 *spans, __constant const uchar *kinds)
{
    int begins[LANES], lengths[LANES];
    for (int lane = 0; lane < LANES; lane++) begins[lane] = spans[lane].x, lengths[lane] = spans[lane].y;
    for (int lane = 0; lane < LANES; lane += 16)
        spread_lanes(queries, begins + lane, lengths + lane, kinds, group->rows * BLOCK, group->query + lane);
    for (int lane = 0; lane < LANES; lane++) begins[lane] = spans[lane].z, lengths[lane] = spans[lane].w;
    for (int lane = 0; lane < LANES; lane += 16)
        spread_lanes(targets, begins + lane, lengths + lane, kinds + N_CODES, group->columns * BLOCK,
                     group->target + lane);
}

#else

CALL void spread_letters(const group_t *group, __global const uchar *queries, __global const uchar *targets,
                         const int4 *spans, __constant const uchar *kinds)
{
    for (int lane = 0; lane < LANES; lane++) spread(group, lane, queries, targets, spans[lane], kinds);
}

#endif

/* Write the letters of all lanes, of which the first n have a pair, and where these end. */
CALL void spread_group(const group_t *group, lane_slots_t *slots, __global const uchar *queries,
                       __global const uchar *targets, __global const int4 *spans, int n, __constant const uchar *kinds)
{
    int4 of_lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        of_lanes[lane] = lane < n ? spans[lane] : (int4)(0);
        slots->last_row[lane] = (score_t)(of_lanes[lane].y - 1);
        slots->last_column[lane] = (score_t)(of_lanes[lane].w - 1);
    }
    spread_letters(group, queries, targets, of_lanes, kinds);
}

/* Write an edge k residues from the corner. */
CALL void write_border(__global score_t *edge, int k, int stride, __constant const int *params)
{
    const int score = k ? ZERO + params[4] + (k - 1) * params[5] : ZERO, gap = max(score + params[0], LOWEST);
    for (int lane = 0; lane < stride; lane++) {
        edge[lane] = (score_t)score;
        edge[stride + lane] = (score_t)gap;
    }
}

CALL void write_borders(const group_t *group, __constant const int *params)
{
    const int stride = group->stride;
    for (int j = 0; j <= group->columns * BLOCK; j++) write_border(ABOVE(group, 0, j), j, stride, params);
    for (int i = 0; i < group->rows * BLOCK; i++) write_border(LEFT(group, 0, i), i + 1, stride, params);
    for (int a = 1; a <= group->rows; a++) write_border(ABOVE(group, a, 0), a * BLOCK, stride, params);
}
