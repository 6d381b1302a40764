/* Plan7 Viterbi with the directions of the best path, for the few sequences that are hits: the shape for GPUs.

   As viterbi_trace_item.cl, with LANES work-items to a sequence, each of which holds NODES consecutive nodes
   (LANES * NODES >= M): node lane * NODES + k is at [k][lane] of a row of directions. Deletes go through
   the lanes by a max-plus prefix scan, as in viterbi_lanes.cl.

   Buffers: those of viterbi_trace_item.cl without rows, but
     transitions  int[N_TRANSITIONS][NODES][LANES]
     emissions    int[N_CODES][2][NODES][LANES]     match, insert
     cells        uchar[n_residues][NODES][LANES]

   Macros
     LANES, LANE_BACKEND  see common/lanes.h
     NODES      nodes a lane, >= 1
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: a work-group of LANES a sequence. Local memory: LANES * 4 bytes. */

#include "common/delete_prefix.h"
#include "common/plan7_traceback.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* A lane's part of the row before, and the directions of this one. */
typedef struct {
    int m[NODES], i[NODES], d[NODES];
    uchar cell[NODES];
} nodes_t;

/* M and I of one residue with their directions; returns this lane's best way out, and its highest node. */
int2 match_and_insert(nodes_t *s, int b, __global const int *t, __global const int *emission, uint lane,
                      __local int *scratch)
{
    const int left_m = shuffle_up(s->m[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    const int left_i = shuffle_up(s->i[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    const int left_d = shuffle_up(s->d[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    int2 best = (int2)(IMPOSSIBLE + IMPOSSIBLE, 0);
#pragma unroll UNROLL_NODES
    for (int k = NODES - 1; k >= 0; k--) {
        __global const int *at = t + k * LANES;
        const int from_b = b + at[TBM * ROW];
        const int from_m = (k > 0 ? s->m[k > 0 ? k - 1 : 0] : left_m) + at[(SABOTAGE ? TIM : TMM) * ROW];
        const int from_i = (k > 0 ? s->i[k > 0 ? k - 1 : 0] : left_i) + at[TIM * ROW];
        const int from_d = (k > 0 ? s->d[k > 0 ? k - 1 : 0] : left_d) + at[TDM * ROW];
        const int v = MAX(MAX(from_b, from_m), MAX(from_i, from_d));
        const int opened = s->m[k] + at[TMI * ROW], extended = s->i[k] + at[TII * ROW];
        const int w = MAX(opened, extended);
        const int m = CLAMP(CLAMP(v) + emission[k * LANES]), i = CLAMP(CLAMP(w) + emission[ROW + k * LANES]);
        const int out = m + at[TME * ROW];
        int cell = v == from_b ? FROM_B : v == from_m ? FROM_M : v == from_i ? FROM_I : FROM_D;
        if (extended > opened) cell |= CELL_I_FROM_I;
        if (v <= IMPOSSIBLE || m <= IMPOSSIBLE) cell |= CELL_M_IMPOSSIBLE;
        if (w <= IMPOSSIBLE || i <= IMPOSSIBLE) cell |= CELL_I_IMPOSSIBLE;
        s->cell[k] = (uchar)cell;
        s->m[k] = m;
        s->i[k] = i;
        if (out > best.x) best = (int2)(out, k);
    }
    return best;
}

/* D of one residue, after M: within the lane first, then what comes in from the lanes before. */
void deletes(nodes_t *s, __global const int *t, const delete_prefix_t *prefix, uint lane, __local int *scratch)
{
    int d = IMPOSSIBLE;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        s->d[k] = d;
        const int opens = s->m[k] + t[TMD * ROW + k * LANES], goes_on = d + t[TDD * ROW + k * LANES];
        d = CLAMP(MAX(opens, goes_on));
    }
    add_entering_deletes(s->d, d, prefix, lane, scratch);
}

/* Write the directions of a row, those of D now added: M comes before D where they tie. */
void write_lane_directions(const nodes_t *s, __global const int *t, __global uchar *cells, uint lane,
                      __local int *scratch)
{
    const int last = NODES - 1;
    const int leaves = s->d[last] + t[TDD * ROW + last * LANES] > s->m[last] + t[TMD * ROW + last * LANES];
    int from_d = shuffle_up(leaves, 1, 0, lane, scratch);
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        const int impossible = s->d[k] <= IMPOSSIBLE ? CELL_D_IMPOSSIBLE : 0;
        cells[k * LANES] = (uchar)(s->cell[k] | impossible | (from_d ? CELL_D_FROM_D : 0));
        from_d = s->d[k] + t[TDD * ROW + k * LANES] > s->m[k] + t[TMD * ROW + k * LANES];
    }
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(LANES, 1, 1)))
void viterbi_trace(__global const uchar *codes, __global const int *offsets, __global const int *transitions,
                   __global const int *emissions, __constant const int *special, __global uchar *cells,
                   __global uchar *flags, __global int *exits, __global int *steps, __global uchar *possible)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0), row = get_group_id(0);
    const int start = offsets[row], length = offsets[row + 1] - start;
    const size_t base = (size_t)start + row;
    __global const int *t = transitions + lane;
    delete_prefix_t prefix;
    find_delete_prefix(&prefix, t, lane, scratch);
    nodes_t s;
    for (int k = 0; k < NODES; k++) s.m[k] = s.i[k] = s.d[k] = IMPOSSIBLE;
    plan7_specials_t special_states = plan7_specials_at_start(special);
    if (lane == 0) {
        flags[base] = FLAGS_AT_START;
        exits[base] = 0;
    }
    for (int x = 0; x < length; x++) {
        __global const int *emission = emissions + (size_t)codes[start + x] * 2 * ROW + lane;
        const int2 best = match_and_insert(&s, special_states.b, t, emission, lane, scratch);
        deletes(&s, t, &prefix, lane, scratch);
        write_lane_directions(&s, t, cells + (size_t)(start + x) * ROW + lane, lane, scratch);
        const int highest = lane_max(best.x, lane, scratch);
        const int node = lane_max(best.x == highest ? (int)lane * NODES + best.y + 1 : 0, lane, scratch);
        const plan7_specials_t after = plan7_specials_after(special_states, highest, special);
        if (lane == 0) {
            exits[base + x + 1] = node;
            flags[base + x + 1] = special_flags(special_states, after, highest, special);
        }
        special_states = after;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (lane == 0)
        possible[row] = traceback(length, cells + (size_t)start * ROW, LANES, NODES, flags + base, exits + base,
                                  steps + start);
}
