/* Random tracebacks through the Forward matrix of one region (clalign/reference/sampling.py). */

#include "common/local_rows.h"
#include "common/sampling_clusters.h"

#define N_SAMPLES 200

/* Residues of the largest alphabet; the table of a smaller one is filled up. */
#define N_KINDS 20

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Where a random number is nearer than this to the border of two choices, rounding decides, as in HMMER. */
#define TOO_NEAR ((wide)1e-6)

/* A region, one problem of several side by side. `most` is the room for segments (common/sampling_clusters.h); `visits`
   is room for how often each node emitted in one of them, vector after vector. */
typedef struct {
    __global const float *m, *i, *d, *slots, *transitions, *ratios;
    __global const uint *members;
    __global const uchar *codes, *residues;
    __global float *factors;
    __global int *columns, *visits;
    int most, n_segments, vectors, length, is_ambiguous;
    float move, loop;
    uint random;
} region_t;

enum { STATE_B, STATE_M, STATE_I, STATE_D };

CALL wide next_number(region_t *r)
{
    r->random = r->random * 69069u + 1u;
    return (wide)r->random * (wide)(1.0 / 4294967296.0);
}

/* The number of the first weight whose share with those before exceeds a number: in HMMER's order of roundings. */
CALL int choose_as_hmmer(wide number, float4 weights, int n)
{
    const float weight[4] = {weights.x, weights.y, weights.z, weights.w};
    float sum = 0.0f, lost = 0.0f;
    wide whole = 0, cumulative = 0;
    for (int k = 0; k < n; k++) {
        const float corrected = weight[k] - lost, after = sum + corrected;
        lost = (after - sum) - corrected;
        sum = after;
    }
    for (int k = 0; k < n; k++) whole += (wide)(sum != 0.0f ? divide(weight[k], sum) : 1.0f / n);
    for (int k = 0; k < n; k++) {
        cumulative += (wide)(sum != 0.0f ? divide(weight[k], sum) : 1.0f / n);
        if (number < cumulative / whole) return k;
    }
    return n - 1;
}

CALL int choose_of_two(region_t *r, float a, float b)
{
    const wide number = next_number(r), border = (wide)a, whole = border + (wide)b, at = number * whole;
    if (fabs(at - border) > whole * TOO_NEAR) return at >= border;
    return choose_as_hmmer(number, (float4)(a, b, 0.0f, 0.0f), 2);
}

CALL int choose_of_four(region_t *r, float4 weights)
{
    const wide number = next_number(r);
    const wide a = (wide)weights.x, b = a + (wide)weights.y, c = b + (wide)weights.z, whole = c + (wide)weights.w;
    const wide at = number * whole, near = whole * TOO_NEAR;
    if (fabs(at - a) > near && fabs(at - b) > near && fabs(at - c) > near) return (at >= a) + (at >= b) + (at >= c);
    return choose_as_hmmer(number, weights, 4);
}

#define CELL(row, q, lane) (((size_t)(row) * r->vectors + (q)) * ROW_LANES + (lane))

/* What leaves the model from the nodes of a vector: M of its four lanes, then D. */
CALL float8 leaving_from(const region_t *r, int row, int q, float by)
{
    return (float8)(vload4(0, r->m + CELL(row, q, 0)), vload4(0, r->d + CELL(row, q, 0))) * by;
}

CALL wide sum_of(float8 v)
{
    const wide m = ((wide)v.s0 + (wide)v.s1) + ((wide)v.s2 + (wide)v.s3);
    const wide d = ((wide)v.s4 + (wide)v.s5) + ((wide)v.s6 + (wide)v.s7);
    return m + d;
}

/* The state and node (from 1, in `k`) by which a row leaves the model. Vectors are passed over by several at a time. */
CALL int choose_cell(region_t *r, int row, int *k)
{
    __global const float *slots = r->slots;
    const wide number = next_number(r), surely = number - (wide)1e-9;
    const float by = divide(1.0f, SLOT(slots, row, SLOT_E));
    wide sum = 0;
    for (int turn = 0; turn < 1000; turn++)
        for (int q = 0; q < r->vectors; q++) {
            if (q + 4 <= r->vectors) {
                const wide a = sum_of(leaving_from(r, row, q, by)), b = sum_of(leaving_from(r, row, q + 1, by));
                const wide c = sum_of(leaving_from(r, row, q + 2, by)), d = sum_of(leaving_from(r, row, q + 3, by));
                const wide all = (a + b) + (c + d);
                if (sum + all < surely) {
                    sum += all;
                    q += 3;
                    continue;
                }
            }
            union { float8 v; float cell[8]; } u;
            u.v = leaving_from(r, row, q, by);
            for (int place = 0; place < 8; place++) {
                sum += (wide)u.cell[place];
                *k = place % 4 * r->vectors + q + 1;
                if (number < sum) return place < 4 ? STATE_M : STATE_D;
            }
        }
    return STATE_M;
}

/* Ratios of the residues, in the order of the alphabet. */
typedef union { struct { float16 most; float4 last; } v; float kind[N_KINDS]; } kinds_t;

/* Sixteen of them. Not the built-in function: some CPU drivers have wrong ones for vectors of 16. */
CALL float16 first_kinds(__global const float *ratios)
{
    return (float16)(vload8(0, ratios), vload8(1, ratios));
}

/* The mean over the nodes that emitted; forget which these are. What is summed is in HMMER's order: lane by lane. */
CALL kinds_t mean_ratios(const region_t *r, float share)
{
    float16 a = (float16)(0.0f), b = a, c = a, d = a;
    float4 a_last = (float4)(0.0f), b_last = a_last, c_last = a_last, d_last = a_last;
    for (int q = 0; q < r->vectors; q++) {
        const int4 visits = vload4(q, r->visits);
        if (visits.x + visits.y + visits.z + visits.w == 0) continue;
        vstore4((int4)(0), q, r->visits);
        __global const float *most = r->ratios + (size_t)q * 4 * N_KINDS, *last = most + 4 * 16;
        const float4 used = convert_float4(visits) * share;
        a = a + first_kinds(most) * used.x;
        b = b + first_kinds(most + 16) * used.y;
        c = c + first_kinds(most + 32) * used.z;
        d = d + first_kinds(most + 48) * used.w;
        a_last = a_last + vload4(0, last) * used.x;
        b_last = b_last + vload4(1, last) * used.y;
        c_last = c_last + vload4(2, last) * used.z;
        d_last = d_last + vload4(3, last) * used.w;
    }
    kinds_t mean;
    mean.v.most = (a + b) + (c + d);
    mean.v.last = (a_last + b_last) + (c_last + d_last);
    return mean;
}

/* Ratios of all letters: ambiguous ones get the mean of their members, those that cannot be matched 1. */
CALL void ratios_of_letters(const region_t *r, const kinds_t *mean, float *letters)
{
#pragma unroll
    for (int kind = 0; kind < N_KINDS; kind++) letters[r->residues[kind]] = mean->kind[kind];
    for (int code = 0; code < N_CODES && r->is_ambiguous; code++) {
        const uint members = r->members[code];
        if (members == 1u << code) continue;
        float sum = 0.0f;
        for (uint left = members; left; left &= left - 1) sum += letters[31 - clz(left & -left)];
        letters[code] = members ? divide(sum, (float)popcount(members)) : 1.0f;
    }
}

/* Add 1 to residues outside every segment. */
CALL void add_ones(__global float *factors, int first, int last)
{
    int x = first;
    for (; x + 8 <= last; x += 8) vstore8(vload8(0, factors + x) + 1.0f, 0, factors + x);
    for (; x < last; x++) factors[x] += 1.0f;
}

/* Write a segment, and the mean ratios of its letters to its residues; the first counts as one outside. */
CALL void keep_segment(region_t *r, int sample, int first, int last, int node_first, int node_last,
                       int n_emitted)
{
    float letters[N_CODES];
    if (r->n_segments < r->most) {
        __global int *column = r->columns + r->n_segments;
        column[SAMPLE * r->most] = sample;
        column[FIRST * r->most] = first;
        column[LAST * r->most] = last;
        column[NODE_FIRST * r->most] = node_first;
        column[NODE_LAST * r->most] = node_last;
    }
    r->n_segments++;
    const kinds_t mean = mean_ratios(r, divide(1.0f, (float)n_emitted));
    ratios_of_letters(r, &mean, letters);
    r->factors[first] += 1.0f;
    int x = first + 1;
    for (; x + 8 <= last; x += 8) {
        __global const uchar *code = r->codes + x;
        const float4 low = (float4)(letters[code[0]], letters[code[1]], letters[code[2]], letters[code[3]]);
        const float4 up = (float4)(letters[code[4]], letters[code[5]], letters[code[6]], letters[code[7]]);
        vstore8(vload8(0, r->factors + x) + (float8)(low, up), 0, r->factors + x);
    }
    for (; x < last; x++) r->factors[x] += letters[r->codes[x]];
}

/* Go back from E of a row to B; returns the row of that B. */
CALL int sample_traceback(region_t *r, int sample, int x)
{
    __global const float *slots = r->slots;
    int k, state = choose_cell(r, x, &k), node_last = 0, n_emitted = 0, n_inserted = 0;
    const int last = x;
    int q = (k - 1) % r->vectors, lane = (k - 1) / r->vectors;
    for (;;) {
        const int wraps = q == 0, q_left = wraps ? r->vectors - 1 : q - 1, lane_left = lane - wraps;
        if (state == STATE_D) {
            __global const float *left = r->transitions + q_left * N_LOCAL_TRANSITIONS * 4 + lane_left;
            const size_t at = CELL(x, q_left, lane_left);
            state = choose_of_two(r, r->m[at] * left[4 * MD], r->d[at] * left[4 * DD]) ? STATE_D : STATE_M;
        } else {
            __global const float *step = r->transitions + q * N_LOCAL_TRANSITIONS * 4 + lane;
            n_emitted++;
            x--;
            if (state == STATE_I) {
                n_inserted++;
                const size_t at = CELL(x, q, lane);
                const float opened = r->m[at] * step[4 * (SABOTAGE ? MM : MI)], extended = r->i[at] * step[4 * II];
                state = choose_of_two(r, opened, extended) ? STATE_I : STATE_M;
                continue;
            }
            r->visits[4 * q + lane] = n_inserted + 1;
            n_inserted = 0;
            if (!node_last) node_last = k;
            float4 weights = (float4)(SLOT(slots, x, SLOT_B) * step[4 * BM], 0.0f, 0.0f, 0.0f);
            if (k > 1) {
                const size_t at = CELL(x, q_left, lane_left);
                weights.y = r->m[at] * step[4 * MM];
                weights.z = r->i[at] * step[4 * IM];
                weights.w = r->d[at] * step[4 * DM];
            }
            state = choose_of_four(r, weights);
            if (state == STATE_B || k == 1 || x == 0) break;
        }
        k--;
        q = q_left;
        lane = lane_left;
    }
    keep_segment(r, sample, x, last, k - 1, node_last, n_emitted);
    return x;
}

/* Draw all paths of a region. What lies outside every segment counts as 1 in each sample. */
CALL void draw_paths(region_t *r)
{
    __global const float *slots = r->slots;
    for (int q = 0; q < r->vectors; q++) vstore4((int4)(0), q, r->visits);
    for (int x = 0; x < r->length; x++) {
        r->factors[x] = 0.0f;
        r->is_ambiguous |= r->members[r->codes[x]] != 1u << r->codes[x];
    }
    for (int sample = 0; sample < N_SAMPLES; sample++) {
        int x = r->length, end = x, is_c = 1; /* from x to `end` all is outside */
        while (x > 0) {
            const float here = is_c ? SLOT(slots, x - 1, SLOT_C) : SLOT(slots, x - 1, SLOT_J);
            if (choose_of_two(r, here * r->loop, SLOT(slots, x, SLOT_E) * 0.5f * SLOT(slots, x, SLOT_SCALE)) == 0) {
                x--;
                continue;
            }
            add_ones(r->factors, x, end);
            end = x = sample_traceback(r, sample, x);
            is_c = 0;
            if (choose_of_two(r, SLOT(slots, x, SLOT_N) * r->move, SLOT(slots, x, SLOT_J) * r->move) == 0) break;
        }
        add_ones(r->factors, 0, end);
    }
}
