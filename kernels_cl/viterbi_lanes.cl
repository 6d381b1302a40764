/* Plan7 Viterbi, HMMER2's integer scores, exact: lanes that share a sequence, for GPUs.

   Each of LANES work-items holds NODES consecutive nodes of the model (LANES * NODES >= M) in registers.

   `viterbi_score` takes a residue at a time through all lanes and serves every model. A group of lanes
   shares SEQUENCES sequences. Three shuffles bring the left neighbor's last values; the chain of
   deletes is a max-plus prefix scan over the lanes: D entering a lane costs the prefix sums of D->D
   within it. The recurrence is that of clalign/reference/viterbi.py.

   `viterbi_score_skewed` (SKEWED 1) holds B constant, as viterbi_item.cl does: returned is the best way
   out of the model, and where J could have mattered the caller asks `viterbi_score`. Each lane is
   a block of residues behind its left neighbor, so that deletes run on from lane to lane, and nothing is
   reduced or scanned: two shuffles a residue are all.

   Buffers
     codes        uchar[n_residues]                    letter codes, sequence after sequence
     offsets      int[n_rows + 1]                      where each begins
     rows         int[n]                               those to be scored
     transitions  int[N_TRANSITIONS][NODES][LANES]     node lane * NODES + k at [k][lane]
     emissions    int[N_CODES][2][NODES][LANES]        match, insert
     special      int[N_SPECIALS]
     scores       int[n]                               out: 1/1000 bit
   and of the skewed form
     steps        int4[LANES * NODES][2]               see common/strips.h
     packed       int4[N_CODES][NODE_FOURS][LANES]          its emissions
     best         int[n]                               out

   Macros
     LANES, LANE_BACKEND     see common/lanes.h
     NODES      nodes a lane, >= 1
     SEQUENCES  sequences a group works on at once, which share each load of a transition
     GROUP      work-items a work-group, a multiple of LANES (LANES itself with LANE_BACKEND 0)
     LOCAL_TRANSITIONS  1 if the table of transitions fits local memory
     SKEWED     1 for the skewed form
     LOCAL_EMISSIONS    1 if its emissions fit local memory
     BLOCK      residues that it takes at once: more hide the time of the shuffles, but it takes LANES
                blocks until all lanes have work
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: any number of work-groups of GROUP; groups of lanes stride over the sequences.
   Local memory: (LOCAL_TRANSITIONS * N_TRANSITIONS * NODES + 1) * LANES * 4 bytes; the skewed form's:
   (LOCAL_EMISSIONS * N_CODES * NODE_FOURS * 4 + 1) * LANES * 4 bytes. */

#ifndef SEQUENCES
#define SEQUENCES 2
#endif
#ifndef LOCAL_TRANSITIONS
#define LOCAL_TRANSITIONS 1
#endif
#ifndef SKEWED
#define SKEWED 0
#endif
#ifndef LOCAL_EMISSIONS
#define LOCAL_EMISSIONS 0
#endif
#ifndef BLOCK
#define BLOCK 1
#endif

#if LOCAL_TRANSITIONS
#define TRANSITIONS_IN __local
#else
#define TRANSITIONS_IN __global
#endif
#if LOCAL_EMISSIONS
#define EMISSIONS_IN __local
#else
#define EMISSIONS_IN __global
#endif
#define EMISSION_STRIDE LANES

#include "common/delete_prefix.h"
#include "common/strips.h"

#ifndef GROUP
#define GROUP LANES
#endif

#if SKEWED

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_score_skewed(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                          const uint n, __global const int4 *steps, __global const int4 *packed, const int begin,
                          __global int *best)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0) % LANES;
    const uint group = get_global_id(0) / LANES, n_groups = get_global_size(0) / LANES;
#if LOCAL_EMISSIONS
    __local int4 table[N_CODES * NODE_FOURS * LANES];
    for (uint k = get_local_id(0); k < N_CODES * NODE_FOURS * LANES; k += GROUP) table[k] = packed[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const int4 *emissions = table + lane;
#else
    __global const int4 *emissions = packed + lane;
#endif
    const int entering = lane > 0 ? steps[(lane * NODES - 1) * 2].w : begin;
    for (uint number = group; number < n; number += n_groups) {
        const int row = rows[number], length = offsets[row + 1] - offsets[row];
        __global const uchar *code = codes + offsets[row];
        strip_t s;
        s.best = 2 * FAR_BELOW;
        open_strip(&s, steps + lane * NODES * 2, entering);
        int2 right[BLOCK];
        uint ahead[BLOCK];
#pragma unroll
        for (int r = 0; r < BLOCK; r++) {
            right[r] = (int2)(2 * FAR_BELOW, 2 * FAR_BELOW);
            ahead[r] = length > 0 ? code[min(r, length - 1)] : 0;
        }
        int i = -(int)lane * BLOCK; /* the first residue of the lane's block */
        const int n_steps = length > 0 ? (length + BLOCK - 1) / BLOCK + LANES - 1 : 0;
#pragma unroll 1
        for (int step = 0; step < n_steps; step++, i += BLOCK) {
            int2 left[BLOCK];
            uint now[BLOCK];
#pragma unroll
            for (int r = 0; r < BLOCK; r++) {
                left[r].x = shuffle_up(right[r].x, 1, begin, lane, scratch);
                left[r].y = shuffle_up(right[r].y, 1, 2 * FAR_BELOW, lane, scratch);
                now[r] = ahead[r];
                ahead[r] = code[clamp(i + BLOCK + r, 0, length - 1)];
            }
#pragma unroll
            for (int r = 0; r < BLOCK; r++)
                if (i >= 0 && i + r < length) right[r] = next_strip_row(&s, emissions + now[r] * NODE_FOURS * LANES,
                                                                        left[r]);
        }
        const int highest = lane_max(s.best, lane, scratch);
        if (lane == 0) best[number] = highest;
    }
}

#else

/* The state of one sequence in one lane. */
typedef struct {
    int m[NODES], i[NODES], d[NODES];
    plan7_specials_t special;
    int length;
    __global const uchar *codes;
} plan7_lane_t;

/* M and I of one residue; returns this lane's best way out of the model. `emission` points at the
   lane's match scores of the residue. */
int match_and_insert(plan7_lane_t *s, TRANSITIONS_IN const int *t, __global const int *emission, uint lane,
                     __local int *scratch)
{
    int left_m = shuffle_up(s->m[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    int left_i = shuffle_up(s->i[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    int left_d = shuffle_up(s->d[NODES - 1], 1, IMPOSSIBLE, lane, scratch);
    int best = IMPOSSIBLE + IMPOSSIBLE;
#pragma unroll UNROLL_NODES
    for (int k = NODES - 1; k >= 0; k--) {
        TRANSITIONS_IN const int *at = t + k * LANES + lane;
        const int old_m = k > 0 ? s->m[k > 0 ? k - 1 : 0] : left_m;
        const int old_i = k > 0 ? s->i[k > 0 ? k - 1 : 0] : left_i;
        const int old_d = k > 0 ? s->d[k > 0 ? k - 1 : 0] : left_d;
        int m = MAX(old_m + at[(SABOTAGE ? TIM : TMM) * ROW], old_i + at[TIM * ROW]);
        m = MAX(m, old_d + at[TDM * ROW]);
        m = MAX(m, s->special.b + at[TBM * ROW]);
        m = CLAMP(CLAMP(m) + emission[k * LANES]);
        int i = MAX(s->m[k] + at[TMI * ROW], s->i[k] + at[TII * ROW]);
        i = CLAMP(CLAMP(i) + emission[ROW + k * LANES]);
        s->m[k] = m;
        s->i[k] = i;
        best = MAX(best, m + at[TME * ROW]);
    }
    return best;
}

/* D of one residue, after M: within the lane first, then what comes in from the lanes before. */
void deletes(plan7_lane_t *s, TRANSITIONS_IN const int *t, const delete_prefix_t *prefix, uint lane,
             __local int *scratch)
{
    int d = IMPOSSIBLE;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        s->d[k] = d;
        d = CLAMP(MAX(s->m[k] + t[TMD * ROW + k * LANES + lane], d + t[TDD * ROW + k * LANES + lane]));
    }
    add_entering_deletes(s->d, d, prefix, lane, scratch);
}

void open_lane(plan7_lane_t *s, __global const uchar *codes, __global const int *offsets, __global const int *rows,
                uint n, uint number, __constant const int *special)
{
    const int row = rows[number < n ? number : n - 1];
    s->codes = codes + offsets[row];
    s->length = number < n ? offsets[row + 1] - offsets[row] : 0;
    s->special = plan7_specials_at_start(special);
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++)
        s->m[k] = s->i[k] = s->d[k] = IMPOSSIBLE;
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_score(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                   const uint n, __global const int *transitions, __global const int *emissions,
                   __constant const int *special, __global int *scores)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0) % LANES;
    const uint group = get_global_id(0) / LANES, n_groups = get_global_size(0) / LANES;
#if LOCAL_TRANSITIONS
    __local int table[N_TRANSITIONS * ROW];
    for (uint k = get_local_id(0); k < N_TRANSITIONS * ROW; k += GROUP) table[k] = transitions[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    TRANSITIONS_IN const int *t = table;
#else
    TRANSITIONS_IN const int *t = transitions;
#endif
    delete_prefix_t prefix;
    find_delete_prefix(&prefix, t + lane, lane, scratch);
    for (uint first = group * SEQUENCES; first < n; first += n_groups * SEQUENCES) {
        plan7_lane_t strip[SEQUENCES];
        int longest = 0;
#pragma unroll
        for (int q = 0; q < SEQUENCES; q++) {
            open_lane(&strip[q], codes, offsets, rows, n, first + q, special);
            longest = MAX(longest, strip[q].length);
        }
        for (int i = 0; i < longest; i++) {
#pragma unroll
            for (int q = 0; q < SEQUENCES; q++) {
                /* A sequence that has ended runs on idly; its special states stay as they are. */
                const uint code = strip[q].length > 0 ? strip[q].codes[i < strip[q].length ? i : 0] : 0;
                const int best = match_and_insert(&strip[q], t, emissions + code * 2 * ROW + lane, lane, scratch);
                deletes(&strip[q], t, &prefix, lane, scratch);
                const int e = lane_max(best, lane, scratch);
                const plan7_specials_t after = plan7_specials_after(strip[q].special, e, special);
                if (i < strip[q].length) strip[q].special = after;
            }
        }
        if (lane == 0)
            for (int q = 0; q < SEQUENCES && first + q < n; q++)
                scores[first + q] = strip[q].special.c + special[C_MOVE];
    }
}

#endif
