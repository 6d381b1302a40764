/* HMMER3's Forward score in single precision: lanes that share a sequence, for GPUs.

   Each of LANES work-items holds NODES consecutive nodes of the model (LANES * NODES >= M) in registers;
   a residue goes through all lanes at once. D is a linear recurrence over the nodes: each lane runs
   through its own, a scan over the lanes adds up what enters each of them, and what that adds to x is
   found when x is used next. The values kept are those of forward_vector.cl, the recurrence is
   that of clalign/reference/forward.py.

   Buffers: those of forward_vector.cl, but of the tables
     transitions    float[N_FORWARD_TRANSITIONS][NODES][LANES]
     delete_prefix  float[log2(LANES)][LANES]
     emissions      float[N_CODES][NODES][LANES]

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     NODES      nodes a lane, >= 1
     GROUP      work-items a work-group, a multiple of LANES (LANES itself with LANE_BACKEND 0)
     LOCAL_TRANSITIONS   1 if the transitions fit local memory
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: any number of work-groups of GROUP for each model; groups of lanes take sequences from a counter.
   Local memory: (LOCAL_TRANSITIONS * N_FORWARD_TRANSITIONS * NODES + 1) * LANES * 4 bytes. */

#include "common/forward_specials.h"
#include "common/lane_nodes.h"
#include "common/models.h"

#ifndef GROUP
#define GROUP LANES
#endif
#ifndef LOCAL_TRANSITIONS
#define LOCAL_TRANSITIONS 1
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#if LOCAL_TRANSITIONS
#define TRANSITIONS_IN __local
#else
#define TRANSITIONS_IN __global
#endif

#define N_FORWARD_TRANSITIONS 8

/* One sequence in one lane: x and w of its nodes, and D at its start after the last residue. */
typedef struct {
    float x[NODES], w[NODES];
    float entering;
} forward_lane_t;

/* One residue; returns this lane's part of E. `leaving` gets D at its end. */
float next_row(forward_lane_t *s, TRANSITIONS_IN const float *t, __global const float *emission, float begin,
               float left, float *leaving)
{
    float d = 0.0f, sum = 0.0f;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++, t += LANES) {
        const float m = (begin * t[0] + left) * emission[k * LANES], i = s->w[k];
        left = s->entering * t[7 * ROW] + s->x[k];
        sum += m;
        s->x[k] = m * t[(SABOTAGE ? 2 : 1) * ROW] + (i * t[2 * ROW] + d * t[4 * ROW]);
        s->w[k] = i * t[3 * ROW] + m;
        d = d * t[6 * ROW] + m * t[5 * ROW];
    }
    *leaving = d;
    return sum;
}

void rescale(forward_lane_t *s, float factor)
{
    s->entering *= factor;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        s->x[k] *= factor;
        s->w[k] *= factor;
    }
}

/* The score of a sequence; the same in all lanes. */
float score_of(__global const uchar *code, int length, float move, TRANSITIONS_IN const float *t, const float *prefix,
               __global const float *emissions, uint lane, __local int *scratch)
{
    forward_lane_t s;
    s.entering = 0.0f;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) s.x[k] = s.w[k] = 0.0f;
    forward_specials_t special = forward_specials_at_start(move);
    float begin = move;
    const float last = t[7 * ROW + (NODES - 1) * LANES];
    for (int i = 0; i < length; i++) {
        const float left = shuffle_up_float(s.entering * last + s.x[NODES - 1], 1, lane, scratch);
        float leaving;
        const float part = next_row(&s, t, emissions + (uint)code[i] * ROW, begin, left, &leaving);
        for (uint step = 0; (1u << step) < LANES; step++)
            leaving += shuffle_up_float(leaving, 1u << step, lane, scratch) * prefix[step];
        s.entering = shuffle_up_float(leaving, 1, lane, scratch);
        const float e = lane_sum(part, lane, scratch);
        begin = forward_specials_after(&special, e);
        if (e > LARGEST_SUM) {
            const float factor = scale_specials(&special, e);
            begin *= factor;
            rescale(&s, factor);
        }
    }
    return forward_score(&special);
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void forward(__global const uchar *codes, __global const int *offsets, __global const float *moves,
             __global const int *lists, __global const uint *counts, const uint stride, __global const model_t *models,
             const uint n_models, __global const uchar *tables, __global uint *next, __global float *scores)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0) % LANES, m = MODEL_OF_GROUP(n_models);
    const model_t model = models[m];
    const uint first = model.number * stride, count = counts[model.number];
    if (GROUP_OF_MODEL(n_models) * (GROUP / LANES) >= count) return;
    __global const float *transitions = TABLE_OF(float, tables, model, 0);
    __global const float *delete_prefix = TABLE_OF(float, tables, model, 1);
    __global const float *emissions = TABLE_OF(float, tables, model, 2);
    __global const int *rows = lists + first;
#if LOCAL_TRANSITIONS
    __local float table[N_FORWARD_TRANSITIONS * ROW];
    for (uint k = get_local_id(0); k < N_FORWARD_TRANSITIONS * ROW; k += GROUP) table[k] = transitions[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    TRANSITIONS_IN const float *t = table + lane;
#else
    TRANSITIONS_IN const float *t = transitions + lane;
#endif
    float prefix[5];
    for (uint step = 0; (1u << step) < LANES; step++) prefix[step] = delete_prefix[step * LANES + lane];
    /* Written out, and with the next place taken as soon as the last lane is done: NVIDIA's compiler makes twice
       as fast a loop of this as of a counted one. */
    next += m;
    int taken = 0;
    if (lane == 0) taken = atomic_inc(next);
    uint p = lane_max(taken, lane, scratch);
    while (p < count) {
        const int row = rows[p], length = offsets[row + 1] - offsets[row];
        const float score = score_of(codes + offsets[row], length, moves[row], t, prefix, emissions + lane, lane,
                                     scratch);
        if (lane == 0) {
            scores[first + p] = length > 0 ? score : NAN;
            taken = atomic_inc(next);
        }
        p = lane_max(lane == 0 ? taken : 0, lane, scratch);
    }
}
