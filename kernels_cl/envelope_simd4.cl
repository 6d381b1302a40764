/* Envelopes: Forward score, posterior probabilities, optimal accuracy alignment and composition.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     parts       int[n][3]                       each envelope: its first code, its length, that of its target
     order       int[n]                          the envelopes as they are taken, a team's of one model; -1 for none
     text_at     int[n + 1]                      where the text of each begins: its length + that of the profile
     model_of    int[]                           the model of each envelope
     models, transitions, emissions              see common/local_model.h
     residues    uchar[n_kinds]                  letter codes of the unambiguous residues
     next        uint[1]                         in: 0; the next envelope to be taken
     rows        float[n teams][row_room][ROW_LANES]   scratch: M, I, D of a row, later the sums up to one, and the
                                                 uses of M and I; of work-items in local memory
     pairs       float[n teams][2][room][ROW_LANES]   scratch: Forward, then its products with Backward
     cells       uchar[n teams][room][ROW_LANES]   scratch, where each sum came from
     slots       float[n teams][longest + 1][N_SLOTS][SLOT_LANES]   scratch, see common/local_rows.h
     scores      float[n][2]                     out: Forward score in nats, expected number of correct residues
     ratios      float[n][n_kinds]               out: how much likelier each residue is than in the background
     begins      int[n][3]                       out: first residue and node of the alignment, counted from 0, and where
                                                 its text begins; -1 there on overflow
     states, posteriors   uchar[]           out: state and posterior probability of each step of the alignment
     certainty   float[]                         out, instead of `posteriors`: from where the text of an envelope begins,
                                                 the posterior probability of each residue, be it aligned or outside

   Macros
     LANES, LANE_BACKEND   see common/simd4.h
     CERTAINTY             1: `certainty` is asked for
     SABOTAGE              1 plants a fault, for the test of the tests

   Geometry: see common/simd4.h; teams take their problems from a counter and run as far as the longest of them. */

#include "common/accuracy_traceback.h"

/* sums_t          best sums of M, I, D up to a row; sums of the posterior probabilities of M and I over the rows
   sums_in         in scratch rows
   accuracy_row    the sums up to a residue, and where each came from. `pairs_m`, `pairs_i`: products of Forward and
                   Backward, which are probabilities once multiplied by `by`. Returns the best M; `at` gets its place in
                   the striped order. */
#ifdef LANE_BACKEND
#include "common/accuracy_lanes.h"
#else
#include "common/accuracy_vector.h"
#endif

/* Backward of all problems: the pairs become its products with Forward; of each row, the products of N and C, what
   Forward was divided by (in the slot of E), and the quotient of the divisors stay. Returns 1 / N of the first row. */
CALL reals backward_products(const team_t *team, const targets_t *t, row_t m, grid pairs_m, grid pairs_i, slots_t slots,
                   const length_model_t *ends)
{
    row_t i = m + VEC(team->vectors), d = i + VEC(team->vectors);
    local_specials_t s = {ZEROS, ZEROS, ZEROS, ZEROS, ZEROS};
    masks own = (masks)(0);
    const reals length = from_each(t->length);
    EACH_VECTOR(team, q) m[VEC(q)] = i[VEC(q)] = d[VEC(q)] = ZEROS;
    for (int x = t->longest; x > 0; x--) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        slots_t slot = slots + SLOT_AT(x * N_SLOTS), before = slot - SLOT_AT(N_SLOTS);
        const reals forward_scale = BROADCAST(slot[SLOT_AT(SLOT_SCALE)]);
        backward_row(team, m, i, d, &s, length == (float)x, ends, &emission);
        const reals scale = scale_backward(team, m, i, d, &s, &own, forward_scale);
        slot[SLOT_AT(SLOT_N)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_N)]) * s.n * ends->loop);
        slot[SLOT_AT(SLOT_C)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_C)]) * s.c * ends->loop);
        slot[SLOT_AT(SLOT_E)] = GATHER(forward_scale);
        slot[SLOT_AT(SLOT_SCALE)] = GATHER(quotient(forward_scale, scale));
        const size_t row = VEC((size_t)x * team->vectors);
        multiply_kept(team, pairs_m + row, pairs_i + row, m, i);
    }
    const emission_t emission = emissions_at(team, t->codes, t->length, 0);
    return quotient((reals)(1.0f), before_first(team, m, s, ends, &emission).n);
}

/* What the alignments and the composition need of all rows. */
typedef struct { per_lane_t factor, best, exit_row, exit_at, used_n, used_c; } aligned_t;

/* The sums of all rows; what a product must be multiplied by is left in the slot of B, and for `CERTAINTY` the posterior
   probabilities of N and C in theirs. */
CALL aligned_t align(const team_t *team, const targets_t *t, sums_t *sums, grid pairs_m, grid pairs_i, cells_t cells,
                     slots_t slots, reals factor)
{
    const reals length = from_each(t->length);
    reals b = ZEROS, c = NEGATIVE_INFINITY, exit_row = ZEROS, exit_at = ZEROS, used_n = ZEROS, used_c = ZEROS;
    EACH_VECTOR(team, q) {
        sums->m[VEC(q)] = sums->i[VEC(q)] = sums->d[VEC(q)] = NEGATIVE_INFINITY;
        sums->used_m[VEC(q)] = sums->used_i[VEC(q)] = ZEROS;
    }
    BARRIER;
    for (int x = 1; x <= t->longest; x++) {
        slots_t slot = slots + SLOT_AT(x * N_SLOTS);
        const masks inside = length >= (float)x;
        const reals by = inside ? factor * BROADCAST(slot[SLOT_AT(SLOT_E)]) : ZEROS;
        const reals posterior_n = inside ? BROADCAST(slot[SLOT_AT(SLOT_N)]) * factor : ZEROS;
        const reals posterior_c = inside ? BROADCAST(slot[SLOT_AT(SLOT_C)]) * factor : ZEROS;
        reals at;
        const size_t row = VEC((size_t)x * team->vectors);
        const reals e = accuracy_row(team, sums, pairs_m + row, pairs_i + row, by, b,
                                     cells + row - VEC(team->vectors), &at);
        const reals stays = c + posterior_c;
        const masks leaves = inside & (stays <= e);
        slot[SLOT_AT(SLOT_B)] = GATHER(by);
        if (CERTAINTY) {
            slot[SLOT_AT(SLOT_N)] = GATHER(posterior_n);
            slot[SLOT_AT(SLOT_C)] = GATHER(posterior_c);
        }
        c = inside ? LARGER(stays, e) : c;
        exit_row = leaves ? (reals)((float)x) : exit_row;
        exit_at = leaves ? at : exit_at;
        b = b + posterior_n;
        used_n = used_n + posterior_n;
        used_c = used_c + posterior_c;
        factor = inside ? factor * BROADCAST(slot[SLOT_AT(SLOT_SCALE)]) : factor;
    }
    return (aligned_t){{factor}, {c}, {exit_row}, {exit_at}, {used_n}, {used_c}};
}

/* How much likelier each kind of residue is in the mean emissions of the states than in the background. */
CALL void compose(const team_t *team, const targets_t *t, const sums_t *sums, const aligned_t *a,
                  __global const uchar *residues, int n_kinds, __global float *ratios)
{
    const reals by = quotient((reals)(1.0f), from_each(t->length));
    const reals outside = a->used_n.v * by + a->used_c.v * by;
    EACH_VECTOR(team, q) {
        sums->used_m[VEC(q)] = sums->used_m[VEC(q)] * by;
        sums->used_i[VEC(q)] = sums->used_i[VEC(q)] * by;
    }
    BARRIER;
    for (int first = 0; first < n_kinds; first += KINDS_AT_ONCE) {
        const int kind = first + OWN_KIND < n_kinds ? first + OWN_KIND : first;
        table_t emission = team->emissions + TABLE_ROW(residues[kind] * team->vectors);
        per_lane_t ratio;
        reals sum = ZEROS;
        for (int q = 0; q < team->vectors; q++) {
            sum = sum + sums->used_m[VEC(q)] * NODES_OF(team, emission, q);
            sum = sum + sums->used_i[VEC(q)];
        }
        ratio.v = total(team, sum) + outside;
        for (int s = 0; s < PROBLEMS; s++)
            if (t->place[s] >= 0 && WRITES_KIND && first + OWN_KIND < n_kinds)
                ratios[t->place[s] * n_kinds + kind] = OF_PROBLEM(ratio, s);
    }
}

__kernel KERNEL_ATTRIBUTES
void envelope(__global const uchar *codes, __global const int *parts, __global const int *order, const uint n,
             __global const int *text_at, __global const int *model_of, __global const int *models, table_t transitions,
             table_t emissions, const int row_room, const ulong room, const int longest,
             __global const uchar *residues, const int n_kinds, __global uint *next, row_t rows, grid pairs,
             cells_t cells, slots_t slots, __global float *scores, __global float *ratios, __global int *begins,
             __global uchar *states, __global certainty_t *posteriors)
{
    DECLARE_TEAM(team);
    row_t m = ROWS_OF_TEAM(rows, row_room);
    grid pairs_m = pairs + TEAM_NUMBER * VEC(2 * room) + FIRST_LANE, pairs_i = pairs_m + VEC(room);
    cells += TEAM_NUMBER * VEC(room) + FIRST_LANE;
    slots += TEAM_NUMBER * SLOT_AT((longest + 1) * N_SLOTS) + SLOT_LANE;
    for (uint first = TAKE_NEXT(&team, next); first < n; first = TAKE_NEXT(&team, next)) {
        targets_t t;
        take_model(&team, models + N_MODEL_NUMBERS * model_of[order[first]], transitions, emissions);
        const size_t row = VEC(team.vectors);
        sums_t sums = sums_in(&team, m);
        int whole[PROBLEMS];
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = first + s < n ? order[first + s] : -1;
            __global const int *part = parts + 3 * (place < 0 ? 0 : place);
            whole[s] = part[2];
            place_target(&t, s, place, place < 0 ? 0 : part[1], codes + part[0]);
        }
        const length_model_t ends = length_model_for(whole, 1);
        forward_targets(&team, &t, m, pairs_m, pairs_i, pairs_m, team.vectors, 0, slots, &ends);
        const reals factor = backward_products(&team, &t, m, pairs_m, pairs_i, slots, &ends);
        const aligned_t a = align(&team, &t, &sums, pairs_m, pairs_i, cells, slots, factor);
        compose(&team, &t, &sums, &a, residues, n_kinds, ratios);
        BARRIER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = t.place[s];
            if (place < 0 || !IS_LEADER) continue;
            const trace_t trace = {RAW_GRID(pairs_m + row, s), RAW_GRID(pairs_i + row, s), RAW_SLOTS(slots, s),
                                   RAW_CELLS(cells, s), team.vectors};
            int start[2] = {0, 0};
            const int exit_row = (int)OF_PROBLEM(a.exit_row, s), at = (int)OF_PROBLEM(a.exit_at, s);
            __global certainty_t *own = posteriors + (CERTAINTY ? text_at[place] : 0);
            begins[3 * place + 2] = isfinite(OF_PROBLEM(a.factor, s))
                ? alignment_traceback(&trace, exit_row, at, states, own, text_at[place + 1], start)
                : -1;
            for (int x = 1; CERTAINTY && x <= t.length[s]; x++)
                if (x <= start[0] || x > exit_row) own[x - 1] = SLOT(trace.slots, x, x <= start[0] ? SLOT_N : SLOT_C);
            begins[3 * place] = start[0];
            begins[3 * place + 1] = start[1];
            scores[2 * place] = t.score[s];
            scores[2 * place + 1] = OF_PROBLEM(a.best, s);
        }
        BARRIER;
    }
}
