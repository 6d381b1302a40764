/* MSV of HMMER3: any number of ungapped segments, in 8-bit units, for GPUs.

   A group of lanes shares a sequence: each lane holds NODES consecutive nodes in registers. Every row
   needs its best cell, because it leads back to the begin of the model through J; that is the only
   thing the lanes exchange but for the cell at each lane's left edge.

   Buffers: those of msv_vector.cl, but
     tables    of each model uint[N_CODES][NODE_FOURS][LANES]   costs of each letter, four nodes a word, the first
                                             lowest; 255 at nodes beyond the model

   Macros
     NODES     nodes a lane
     LANES, LANE_BACKEND   see common/lanes.h
     GROUP     work-items a work-group: several groups of lanes, one with LANE_BACKEND 0
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of work-groups for each model; groups of lanes take sequences from a counter.
   Local memory: GROUP * 4 bytes with LANE_BACKEND 0. */

#include "common/lane_lists.h"
#include "common/msv.h"

#ifndef NODES
#define NODES 8
#endif
#ifndef GROUP
#define GROUP LANES
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define NODE_FOURS ((NODES + 3) / 4)
#define MAX_UNROLLED_NODES 32

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) LANE_ATTRIBUTES
void msv_score(__global const uchar *codes, __global const int *offsets, __global const uchar *moves,
               __global const int *lists, __global const uint *counts, const uint stride,
               __global const model_t *models, const uint n_models, __global const uchar *tables,
               __global uint *next, __global uchar *levels)
{
    __local int scratch[LANE_BACKEND == 0 ? LANES : 1];
    const uint lane = get_local_id(0) % LANES, m = MODEL_OF_GROUP(n_models);
    const model_t model = models[m];
    const uint first = model.number * stride, count = counts[model.number];
    const int into = (int)model.numbers[0], bias = (int)model.numbers[1];
    __global const uint *costs = TABLE_OF(uint, tables, model, 0);
    int cells[NODES];
    for (uint p = FIRST_PLACE(next + m, 1, lane); p < count; p = NEXT_PLACE(p, next + m, 1, lane)) {
        const int row = lists[first + p];
        const int length = offsets[row + 1] - offsets[row];
        __global const uchar *code = codes + offsets[row];
        msv_specials_t s = msv_specials_at_start(moves[row], into);
        for (int k = 0; k < NODES; k++) cells[k] = 0;
        for (int i = 0; i < length; i++) {
            __global const uint *cost = costs + (uint)code[i] * NODE_FOURS * LANES + lane;
            int left = shuffle_up(cells[NODES - 1], 1 + SABOTAGE, 0, lane, scratch), best = 0;
            uint four = 0;
#if NODES <= MAX_UNROLLED_NODES
#pragma unroll
#endif
            for (int k = 0; k < NODES; k++) {
                four = k % 4 == 0 ? cost[k / 4 * LANES] : four >> 8;
                const int from = (left > s.begin ? left : s.begin) + bias;
                const int cell = (from < 255 ? from : 255) - (int)(four & 255);
                left = cells[k];
                cells[k] = cell > 0 ? cell : 0;
                best = cells[k] > best ? cells[k] : best;
            }
            s = msv_specials_after(s, lane_max(best, lane, scratch), bias);
        }
        if (lane == 0) levels[first + p] = (uchar)s.level;
    }
}
