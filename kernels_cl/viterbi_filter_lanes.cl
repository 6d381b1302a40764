/* HMMER3's Viterbi filter, 16-bit scores, exact: lanes that share a sequence, for GPUs.

   Each of LANES work-items holds NODES consecutive nodes of the model (LANES * NODES >= M) in registers.

   `viterbi_filter_skewed` (SKEWED 1) takes two sequences at once, packed, and holds B constant: J feeds B
   only after a domain of positive score. Each lane is BLOCK residues behind its left neighbor, so that
   deletes run on from lane to lane, and nothing is reduced or scanned: two shuffles a residue are all. `cut`
   lists the pieces for it: long sequences are cut where the longest alignment that counts fits the overlap
   (clalign/stages/hmmer3/viterbi_filter_pairs.py). Sequences in which J may play a part, and those whose scores
   are too low for its arithmetic, `finish` lists for the other form. J adds nothing unless two domains are
   so good, so that form only goes through the stretches which may hold one.

   `viterbi_filter` scores these, or all if the model is none for the other: a residue at a time through
   all lanes, 32 bits, any model. Deletes that go from lane to lane are followed only if they may matter:
   M of the next row can come from B, and B has to be beaten. The recurrence is that of
   clalign/reference/viterbi_filter.py; sums that saturate there are less than what B gives to M.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     moves      short[n_rows]       score from N, C or J on to the next state
     lists      int[][stride]       by model, those to be scored
     counts     uint[]              how many there are
     models     model_t[n_models]   see common/models.h; numbers of the skewed form: begin of the first node, what M is
                                    kept from falling below, residues of the longest alignment that counts, up to what
                                    M no sum wraps around, residues of a piece
     counters   uint[][4]           by model, in: 0; turns that were taken; how many places are left to the other form;
                                    the next that this one takes; how many pieces there are beside the first ones
     pieces     int4[][n_pieces]    by model: see common/viterbi_filter_strips.h
     spans      int2[][stride]      by place: where its pieces beside the first begin, and how many these are
     bests      int[][stride]       by place: the highest M above B
     again      int[][stride]       places in the list that are left to the other form
     scores     float[][stride]     out: nats, by model and place in its list; not a number without residues
     tables     of each model, of the skewed form
                transitions  int4[LANES * NODES][2]             see common/viterbi_filter_strips.h
                emissions    int4[N_CODES][NODE_EIGHTS][LANES]  match scores of eight nodes each
                of the other
                transitions, emissions                          see common/viterbi_filter_words.h
                reach        int[LANES]                         what D can gain at most that leaves a lane

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     NODES      nodes a lane, >= 1
     GROUP      work-items a work-group, a multiple of the sub-group (LANES itself with LANE_BACKEND 0)
     SKEWED     1 for the skewed form
     BLOCK      residues that it takes at once: more hide the time of the shuffles, but it takes LANES blocks
                until all lanes have work
     LOCAL_TABLE   1 if its emissions, or the transitions of the other, fit local memory
     ALL        1 if the second kernel is to score all rows, after no first one
     LONGEST    residues that the skewed form takes; its arithmetic is laid out for the default
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: any number of work-groups of GROUP for each model; groups of lanes take sequences from a counter.
   Local memory: 4 * LANES bytes, and with LOCAL_TABLE those of the emissions, or, beyond 16 nodes a lane, of the
   steps. */

#ifndef SKEWED
#define SKEWED 0
#endif
#ifndef LOCAL_TABLE
#define LOCAL_TABLE 1
#endif
#ifndef ALL
#define ALL 0
#endif

#if LOCAL_TABLE
#define TRANSITIONS_IN __local
#define EMISSIONS_IN __local
#else
#define TRANSITIONS_IN __global
#define EMISSIONS_IN __global
#endif

#include "common/lane_lists.h"
#include "common/viterbi_filter_strips.h"
#include "common/viterbi_filter_words.h"

#ifndef GROUP
#define GROUP LANES
#endif

#if SKEWED

#define TOO_LONG (1 << 20) /* more than any M is above B */

/* Blocks after which rows are noted in which M was high. */
#define NOTED (BLOCK < 32 ? 32 / BLOCK : 1)

/* Numbers of a model. */
#define BEGIN(model) ((int)(model).numbers[0])
#define LEAST(model) ((int)(model).numbers[1])
#define REACH(model) ((int)(model).numbers[2])
#define TRUSTED(model) ((int)(model).numbers[3])
#define PIECE(model) ((int)(model).numbers[4])

__kernel void cut(__global const int *offsets, __global const int *lists, __global const uint *counts,
                  const uint stride, __global const model_t *models, const uint n_models, __global uint *counters,
                  __global int4 *pieces, const uint n_pieces, __global int2 *spans, __global int *bests)
{
    const model_t model = models[MODEL_OF_GROUP(n_models)];
    const uint number = model.number, n = counts[number];
    const int overlap = REACH(model), longest = PIECE(model), least = LEAST(model);
    __global const int *rows = lists + number * stride;
    counters += number * 4, pieces += number * n_pieces, spans += number * stride, bests += number * stride;
    EACH_OF_MODEL(p, n, n_models) {
        const int length = offsets[rows[p] + 1] - offsets[rows[p]], is_taken = length <= LONGEST;
        const int step = longest - overlap, more = is_taken && length > longest ? (length - overlap - 1) / step : 0;
        const uint place = n + (more > 0 ? atomic_add(counters + 3, (uint)more) : 0);
        bests[p] = is_taken ? least : TOO_LONG;
        spans[p] = (int2)((int)place, more);
        pieces[p] = (int4)(p, 0, is_taken ? min(longest, length) : 0, 0);
        for (int k = 1; k <= more; k++)
            pieces[place + k - 1] = (int4)(p, k * step, min(longest, length - k * step), 0);
    }
}

/* Write the scores, and list the places for which the skewed form cannot decide. */
__kernel void finish(__global const int *offsets, __global const short *moves, __global const int *lists,
                     __global const uint *counts, const uint stride, __global const model_t *models,
                     const uint n_models, __global uint *counters, __global int4 *pieces, const uint n_pieces,
                     __global int2 *spans, __global const int *bests, __global int *again, __global float *scores)
{
    const model_t model = models[MODEL_OF_GROUP(n_models)];
    const uint number = model.number, first = number * stride;
    const int least = LEAST(model);
    __global const int *rows = lists + first;
    counters += number * 4, pieces += number * n_pieces;
    spans += first, bests += first, again += first, scores += first;
    EACH_OF_MODEL(p, counts[number], n_models) {
        const int row = rows[p], best = bests[p], move = moves[row], e = best + WORD_BASE + move;
        const int length = offsets[row + 1] - offsets[row];
        if (length == 0)
            scores[p] = NAN;
        else if (e > SINGLE_MOST || best <= least)
            again[atomic_inc(counters + 1)] = p;
        else
            scores[p] = word_score(e, move);
        if (best <= least || best == TOO_LONG) {
            pieces[p] = (int4)(p, 0, length, 0);
            spans[p].y = 0;
        }
    }
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_filter_skewed(__global const uchar *codes, __global const int *offsets, __global const short *moves,
                           __global const int *lists, __global const uint *counts, const uint stride,
                           __global const model_t *models, const uint n_models, __global const uchar *tables,
                           __global uint *counters, __global int4 *pieces, const uint n_pieces, __global int *bests)
{
    __local int scratch[LANES];
    models += MODEL_OF_GROUP(n_models);
    const uint number = models->number, lane = get_local_id(0) % LANES, n = counts[number];
    counters += number * 4;
    const uint n_more = counters[3];
    if (GROUP_OF_MODEL(n_models) * (GROUP / LANES) * 2 >= n + n_more) return;
    __global const int *rows = lists + number * stride;
    __global const int4 *transitions = TABLE_OF(int4, tables, *models, 0);
    __global const int4 *packed = TABLE_OF(int4, tables, *models, 1);
    const int begin = BEGIN(*models);
    pieces += number * n_pieces, bests += number * stride;
#if LOCAL_TABLE
    __local int4 table[N_CODES * NODE_EIGHTS * LANES];
    for (uint k = get_local_id(0); k < N_CODES * NODE_EIGHTS * LANES; k += GROUP) table[k] = packed[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    EMISSIONS_IN const int4 *emissions = table + lane;
#else
    EMISSIONS_IN const int4 *emissions = packed + lane;
#endif
    const pair_t entering = lane > 0 ? transitions[(lane * NODES - 1) * 2].w : (int)PAIR(begin);
    word_strip_t s;
    s.least = PAIR(LEAST(*models));
    load_transitions(&s, transitions + lane * NODES * 2);
    open_word_strip(&s, entering);
    pair_t best = s.least;
    uint p = NO_PLACE(2);
    pair_of_pieces_t w;
    w.a = w.b = piece_at(~0u, 0, 0, pieces, codes, offsets, moves, rows);
    open_pieces(&w, &s, lane);
    w.todo = 0;
    for (;;) {
        const int together = subgroup_min(w.todo);
        if (together == FOREVER) break;
        if (together == 0) {
            /* The branch below hangs on what came through a shuffle: no compiler can merge it with one before. */
            const uint next = NEXT_PLACE_IF(w.todo == 0, p, counters, 2, lane);
            const int best_a = lane_max(FIRST_OF(best), lane, scratch);
            const int best_b = lane_max(SECOND_OF(best), lane, scratch);
            gather_notes(&w.a, lane, scratch);
            gather_notes(&w.b, lane, scratch);
            if (next != p) {
                if (lane == 0 && w.a.number >= 0) {
                    put_stretch(&w.a, REACH(*models), best_a, TRUSTED(*models), pieces);
                    atomic_max(bests + w.a.place, best_a);
                }
                if (lane == 0 && w.b.number >= 0) {
                    put_stretch(&w.b, REACH(*models), best_b, TRUSTED(*models), pieces);
                    atomic_max(bests + w.b.place, best_b);
                }
                p = next;
                w.a = piece_at(p, n, n_more, pieces, codes, offsets, moves, rows);
                w.b = piece_at(p + 1, n, n_more, pieces, codes, offsets, moves, rows);
                open_word_strip(&s, entering);
                open_pieces(&w, &s, lane);
                best = s.least;
            }
            continue;
        }
        const int begun = w.i, n_blocks = min(together, NOTED);
#pragma unroll 1
        for (int block = 0; block < n_blocks; block++) next_pieces(&w, &s, emissions, PAIR(begin), lane, scratch);
        if (w.todo < FOREVER) w.todo -= n_blocks;
        note_rows(&w.a, FIRST_OF(s.best), begun, w.i);
        note_rows(&w.b, SECOND_OF(s.best), begun, w.i);
        best = HIGHER_PAIR(best, s.best);
        s.best = s.least;
    }
}

#else

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_filter(__global const uchar *codes, __global const int *offsets, __global const short *moves,
                    __global const int *lists, __global const uint *counts, const uint stride,
                    __global const model_t *models, const uint n_models, __global const uchar *tables,
                    __global uint *counters, __global const int4 *pieces, const uint n_pieces,
                    __global const int2 *spans, __global const int *again, __global float *scores)
{
    __local int scratch[LANES];
    const model_t model = models[MODEL_OF_GROUP(n_models)];
    const uint number = model.number, first = number * stride, lane = get_local_id(0) % LANES;
    counters += number * 4;
    const uint count = ALL ? counts[number] : counters[1];
    if (GROUP_OF_MODEL(n_models) * (GROUP / LANES) >= count) return;
    __global const int *transitions = TABLE_OF(int, tables, model, 0), *reach = TABLE_OF(int, tables, model, 1);
    __global const short *emissions = TABLE_OF(short, tables, model, 2);
    __global const int *rows = lists + first;
    pieces += number * n_pieces, spans += first, again += first, scores += first;
#if HELD
    held_transitions_t held;
    const held_transitions_t *t = &held;
#pragma unroll
    for (int k = 0; k < N_LANE_TRANSITIONS * NODES; k++) held.of[k / NODES][k % NODES] = transitions[k * LANES + lane];
#elif LOCAL_TABLE
    __local int table[N_LANE_TRANSITIONS * ROW];
    for (uint k = get_local_id(0); k < N_LANE_TRANSITIONS * ROW; k += GROUP) table[k] = transitions[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    const held_transitions_t *t = table + lane;
#else
    const held_transitions_t *t = transitions + lane;
#endif
    around_t b;
    b.gain = reach[lane];
    for (uint place = FIRST_PLACE(counters + 2, 1, lane); place < count;
         place = NEXT_PLACE(place, counters + 2, 1, lane)) {
        const int p = ALL ? (int)place : again[place], row = rows[p], length = offsets[row + 1] - offsets[row];
        __global const uchar *code = codes + offsets[row];
        const int2 span = ALL ? (int2)(0, 0) : spans[p];
        word_lane_t s;
        s.best = LOWEST_WORD;
        b.move = moves[row];
        b.begin = WORD_BASE + b.move;
        b.single_most = SINGLE_MOST;
        int done = 0;
        open_word_lane(&s);
        for (int k = 0; k <= span.y; k++) {
            const int4 stretch = ALL ? (int4)(p, 0, length, 0) : pieces[k == 0 ? p : span.x + k - 1];
            const int from = max(stretch.y, done), to = stretch.y + stretch.z;
            if (from > done) open_word_lane(&s);
            go_through(&s, &b, t, code, from, to, emissions + lane, lane, scratch);
            done = max(done, to);
        }
        const int e = lane_max(s.best, lane, scratch);
        if (lane == 0) scores[p] = length > 0 ? word_score(e, b.move) : NAN;
    }
}

#endif
