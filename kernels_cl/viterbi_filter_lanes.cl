/* HMMER3's Viterbi filter, 16-bit scores, exact: lanes that share a sequence, for GPUs.

   Each of LANES work-items holds NODES consecutive nodes of the model (LANES * NODES >= M) in registers.

   `viterbi_filter_skewed` (SKEWED 1) takes two sequences at once, packed, and holds B constant: J feeds B
   only after a domain of positive score. Each lane is a residue behind its left neighbor, so that deletes
   run on from lane to lane, and nothing is reduced or scanned: two shuffles a residue are all. `cut` lists
   the pieces for it: long sequences are cut where the longest alignment that counts fits the overlap
   (clalign/stages/viterbi_filter_tables.py). Sequences in which J may play a part, and those whose scores
   are too low for its arithmetic, `finish` lists for the other form. J adds nothing unless two domains are
   so good, so that form only goes through the pieces which hold one.

   `viterbi_filter` scores these, or all if the model is none for the other: a residue at a time through
   all lanes, 32 bits, any model. Deletes that go from lane to lane are followed only if they may matter:
   M of the next row can come from B, and B has to be beaten. The recurrence is that of
   clalign/reference/viterbi_filter.py; sums that saturate there are less than what B gives to M.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     moves      short[n_rows]       score from N, C or J on to the next state
     rows       int[n]              those to be scored
     n          uint[1]
     counters   uint[4]             in: 0; the next piece that is taken; how many places are left to the other
                                    form; the next that this one takes; how many pieces there are
     pieces     int4[]              place in `rows`, first residue, residues; out: the highest M above B
     spans      int2[n]             by place: its first piece, or -1 if all of it is for the other form; how many
     bests      int[n]              by place: the highest M above B
     again      int[n]              places in `rows` that are left to the other form
     scores     float[n]            out: nats; not a number without residues
   of the skewed form
     steps      int4[LANES * NODES][2]             see common/pairs_of_words.h
     emissions  int4[N_CODES][EIGHTS][LANES]       match scores of eight nodes each
   of the other
     steps      int[COLUMNS][NODES][LANES]   begin, match to match, insert to match, match to delete, delete to
                                             delete, insert to insert, delete to match, match to insert
     reach      int[LANES]                   what D can gain at most that leaves a lane
     emissions  short[N_CODES][NODES][LANES]

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     NODES      nodes a lane, >= 1
     GROUP      work-items a work-group, a multiple of LANES (LANES itself with LANE_BACKEND 0)
     SKEWED     1 for the skewed form
     LOCAL_TABLE   1 if its emissions, or the steps of the other, fit local memory
     ALL        1 if the second kernel is to score all rows, after no first one
     LONGEST    residues that the skewed form takes; its arithmetic is laid out for the default
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: any number of work-groups of GROUP; groups of lanes take sequences from a counter.
   Local memory: LOCAL_TABLE * (16 * N_CODES * EIGHTS or 4 * COLUMNS * NODES) * LANES + 4 * LANES bytes. */

#include "common/lanes.h"
#include "common/turns.h"
#include "common/word_scores.h"

#ifndef NODES
#define NODES 4
#endif
#ifndef GROUP
#define GROUP LANES
#endif
#ifndef SKEWED
#define SKEWED 0
#endif
#ifndef LOCAL_TABLE
#define LOCAL_TABLE 1
#endif
#ifndef ALL
#define ALL 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#ifndef LONGEST
#define LONGEST 100000
#endif

#if LOCAL_TABLE
#define TABLE __local
#else
#define TABLE __global
#endif

#define N_CODES 32
#define NO_CODE 31 /* matches nowhere */
#define IS_LISTED (-(1 << 30))

#if SKEWED

#define EMISSIONS TABLE
#include "common/pairs_of_words.h"
#include "common/pieces.h"

#define EACH(p, n) for (uint p = get_global_id(0); p < (n); p += get_global_size(0))

__kernel void cut(__global const int *offsets, __global const int *rows, __global const uint *n, const int overlap,
                  const int longest, const int least, __global uint *counters, __global int4 *pieces,
                  __global int2 *spans, __global int *bests, __global int *again)
{
    EACH(p, *n) {
        const int length = offsets[rows[p] + 1] - offsets[rows[p]], step = longest - overlap;
        bests[p] = least;
        spans[p] = (int2)(-1, 1);
        if (length > LONGEST) {
            again[atomic_inc(counters + 1)] = p;
            bests[p] = IS_LISTED;
        } else if (length > 0) {
            const int count = length <= longest ? 1 : (length - overlap + step - 1) / step;
            const uint place = atomic_add(counters + 3, (uint)count);
            spans[p] = (int2)((int)place, count);
            for (int k = 0; k < count; k++)
                pieces[place + k] = (int4)(p, k * step, min(longest, length - k * step), 0);
        }
    }
}

/* Write the scores, and list the places for which the skewed form cannot tell. */
__kernel void finish(__global const int *offsets, __global const short *moves, __global const int *rows,
                     __global const uint *n, const int least, __global uint *counters, __global int2 *spans,
                     __global const int *bests, __global int *again, __global float *scores)
{
    EACH(p, *n) {
        const int row = rows[p], best = bests[p], move = moves[row], e = best + WORD_BASE + move;
        if (best == IS_LISTED) continue;
        if (offsets[row + 1] == offsets[row])
            scores[p] = NAN;
        else if (e > SINGLE_MOST || best <= least)
            again[atomic_inc(counters + 1)] = p;
        else
            scores[p] = word_score(e + SABOTAGE, move);
        if (best <= least) spans[p] = (int2)(-1, 1);
    }
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_filter_skewed(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                           __global int4 *pieces, __global uint *counters, __global const int4 *steps,
                           __global const int4 *packed, const int begin, const int least, __global int *bests)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0) % LANES, count = counters[3];
#if LOCAL_TABLE
    __local int4 table[N_CODES * EIGHTS * LANES];
    for (uint k = get_local_id(0); k < N_CODES * EIGHTS * LANES; k += GROUP) table[k] = packed[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    TABLE const int4 *emissions = table + lane;
#else
    TABLE const int4 *emissions = packed + lane;
#endif
    const pair_t entering = lane > 0 ? steps[(lane * NODES - 1) * 2].w : (int)PAIR(begin);
    strip_t s;
    s.least = PAIR(least);
    load_steps(&s, steps + lane * NODES * 2);
    for (uint p = FIRST_PLACE(counters, 2); p < count; p = NEXT_PLACE(p, counters, 2)) {
        const piece_t a = piece_at(p, count, pieces, codes, offsets, rows);
        const piece_t b = piece_at(p + 1, count, pieces, codes, offsets, rows);
        open_strip(&s, entering);
        uint2 right = (uint2)(s.x[NODES - 1], s.least);
        int i = -(int)lane;
        uint next_a = code_at(&a, i), next_b = code_at(&b, i);
        const int longest = max(a.length, b.length), n_steps = longest > 0 ? longest + LANES - 1 : 0;
#pragma unroll 1
        for (int step = 0; step < n_steps; step++) {
            TABLE const int4 *of_a = emissions + next_a * EIGHTS * LANES, *of_b = emissions + next_b * EIGHTS * LANES;
            i++;
            next_a = code_at(&a, i);
            next_b = code_at(&b, i);
            uint2 left;
            left.x = lane_up(right.x, 1, PAIR(begin), lane, scratch);
            left.y = lane_up(right.y, 1, s.least, lane, scratch);
            right = next_row(&s, of_a, of_b, left);
        }
        const int best_a = lane_max(FIRST_OF(s.best), lane, scratch);
        const int best_b = lane_max(SECOND_OF(s.best), lane, scratch);
        if (lane == 0) {
            pieces[p].w = best_a;
            atomic_max(bests + a.place, best_a);
            if (p + 1 < count) pieces[p + 1].w = best_b;
            if (p + 1 < count) atomic_max(bests + b.place, best_b);
        }
    }
}

#else

#include "common/pieces.h"

#define COLUMNS 8
#define ROW (NODES * LANES)
#define NOWHERE (2 * NEVER_WORD)

/* Registers can only be indexed by loops that are unrolled; beyond this many they are spilled anyway. */
#if NODES <= 40
#define UNROLL NODES
#else
#define UNROLL 1
#endif

/* One sequence in one lane: what M of node k + 1 can come from but B, and I; the highest M; D at the end. */
typedef struct {
    int x[NODES], i[NODES];
    int best, leaving;
} lane_t;

/* One residue, but for deletes that come from the lanes before. */
void next_row(lane_t *s, TABLE const int *t, __global const short *emission, int begin, int left)
{
    int d = NOWHERE;
#pragma unroll UNROLL
    for (int k = 0; k < NODES; k++, t += LANES) {
        const int m = max(left, begin + t[0]) + emission[k * LANES], i = s->i[k];
        s->best = max(s->best, m);
        left = s->x[k];
        s->x[k] = max(max(m + t[ROW], i + t[2 * ROW]), d + t[6 * ROW]);
        s->i[k] = max(m + t[7 * ROW], i + t[5 * ROW]);
        d = max(m + t[3 * ROW], d + t[4 * ROW]);
    }
    s->leaving = d;
}

/* Deletes that come from the lane before. */
void cross_lane(lane_t *s, TABLE const int *t, int d)
{
#pragma unroll UNROLL
    for (int k = 0; k < NODES; k++, t += LANES) {
        s->x[k] = max(s->x[k], d + t[6 * ROW]);
        d += t[4 * ROW];
    }
    s->leaving = d;
}

void open_lane(lane_t *s)
{
#pragma unroll UNROLL
    for (int k = 0; k < NODES; k++) s->x[k] = s->i[k] = NOWHERE;
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_filter(__global const uchar *codes, __global const int *offsets, __global const short *moves,
                    __global const int *rows, __global const uint *n, __global uint *counters,
                    __global const int *again, __global const int4 *pieces, __global const int2 *spans,
                    __global const int *steps, __global const int *reach, __global const short *emissions,
                    __global float *scores)
{
    __local int scratch[LANES];
    const uint lane = get_local_id(0) % LANES, count = ALL ? *n : counters[1];
#if LOCAL_TABLE
    __local int table[COLUMNS * ROW];
    for (uint k = get_local_id(0); k < COLUMNS * ROW; k += GROUP) table[k] = steps[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    TABLE const int *t = table + lane;
#else
    TABLE const int *t = steps + lane;
#endif
    const int gain = reach[lane];
    for (uint number = FIRST_PLACE(counters + 2, 1); number < count; number = NEXT_PLACE(number, counters + 2, 1)) {
        const int p = ALL ? (int)number : again[number], row = rows[p], length = offsets[row + 1] - offsets[row];
        __global const uchar *code = codes + offsets[row];
        const int move = moves[row];
        int begin = WORD_BASE + move, single_most = SINGLE_MOST, done = 0;
        const int2 span = ALL ? (int2)(-1, 1) : spans[p];
        lane_t s;
        s.best = NEVER_WORD;
        open_lane(&s);
        for (int k = 0; k < span.y; k++) {
            const stretch_t stretch = stretch_at(pieces, span, k, done, length, WORD_BASE + move);
            if (stretch.from > done) open_lane(&s);
            for (int i = stretch.from; i < stretch.to && single_most < HIGHEST_WORD; i++) {
                const int left = lane_up(s.x[NODES - 1], 1, NOWHERE, lane, scratch);
                next_row(&s, t, emissions + (uint)code[i] * ROW + lane, begin, left);
                int matters = s.best > single_most || s.leaving + gain > begin;
                matters = lane_max(matters, lane, scratch);
                while (matters) {
                    single_most = max(single_most, lane_max(s.best, lane, scratch));
                    begin = begin_after(single_most, move);
                    const int d = lane_up(s.leaving, 1, NOWHERE, lane, scratch);
                    cross_lane(&s, t, d);
                    const int goes_on = s.leaving + gain > begin;
                    matters = lane_max(goes_on, lane, scratch);
                }
            }
            done = max(done, stretch.to);
        }
        const int e = lane_max(s.best, lane, scratch);
        if (lane == 0) scores[p] = length > 0 ? word_score(e + SABOTAGE, move) : NAN;
    }
}

#endif
