/* MSV of HMMER3: any number of ungapped segments, in 8-bit units, for GPUs.

   A group of lanes shares a sequence: each lane holds NODES consecutive nodes in registers. Every row
   needs its best cell, because it leads back to the begin of the model through J; that is the only
   thing the lanes tell each other but for the cell at each lane's left edge.

   Buffers
     codes     uchar[n_residues]             letter codes, sequence after sequence
     offsets   int[...]                      where each begins
     rows      int[]                         the sequences to be scored
     n         uint[1]                       how many there are
     moves     uchar[...]                    by sequence: cost of leaving N, C and J
     costs     uint[N_CODES][NODE_FOURS][LANES]   of each letter, four nodes a word, the first lowest; 255 at nodes
                                             beyond the model
     levels    uchar[]                       out: score of J at the end; 255 on overflow

   Macros
     NODES     nodes a lane
     LANES, LANE_BACKEND   see common/lanes.h
     GROUP     work-items a work-group: several groups of lanes, one with LANE_BACKEND 0
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of groups; each group of lanes takes every n-th sequence.
   Local memory: GROUP * 4 bytes with LANE_BACKEND 0. */

#include "common/lanes.h"
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
#define MOST_UNROLLED_NODES 32

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) LANE_ATTRIBUTES
void msv_score(__global const uchar *codes, __global const int *offsets, __global const int *rows,
               __global const uint *n, __global const uchar *moves, const int into, const int bias,
               __global const uint *costs, __global uchar *levels)
{
    __local int scratch[LANE_BACKEND == 0 ? LANES : 1];
    const uint lane = get_local_id(0) % LANES;
    const uint group = get_global_id(0) / LANES, n_groups = get_global_size(0) / LANES;
    const uint count = *n;
    int cells[NODES];
    for (uint p = group; p < count; p += n_groups) {
        const int row = rows[p];
        const int length = offsets[row + 1] - offsets[row];
        __global const uchar *code = codes + offsets[row];
        msv_specials_t s = msv_specials_at_start(moves[row], into);
        for (int k = 0; k < NODES; k++) cells[k] = 0;
        for (int i = 0; i < length; i++) {
            __global const uint *cost = costs + (uint)code[i] * NODE_FOURS * LANES + lane;
            int left = shuffle_up(cells[NODES - 1], 1 + SABOTAGE, 0, lane, scratch), best = 0;
            uint four = 0;
#if NODES <= MOST_UNROLLED_NODES
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
        if (lane == 0) levels[p] = (uchar)s.level;
    }
}
