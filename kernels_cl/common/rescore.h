/* Envelopes: Forward score, posterior probabilities, optimal accuracy alignment and composition.

   common/fours.h or common/quads.h goes before it.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     parts       int[n][3]                       each envelope: its first code, its length, that of its target
     order       int[n]                          the envelopes as they are taken, like beside like; -1 for none
     text_at     int[n + 1]                      where the text of each begins: its length + that of the profile
     steps       float[Q][N_STEPS][4]            see common/local_rows.h
     emissions   float[N_CODES][Q][4]
     residues    uchar[n_kinds]                  letter codes of the unambiguous residues
     next        uint[1]                         in: 0; the next envelope to be taken
     rows        float[n items][8][Q][LANES]     scratch: M, I, D of a row, of the sums, the uses of M and I
     pairs       float[n items][2][longest + 1][Q][LANES]   scratch: Forward, then its products with Backward
     cells       uchar[n items][longest][Q][LANES]          scratch, see common/accuracy.h
     slots       float[n items][longest + 1][N_SLOTS][SEQUENCES]   scratch, see common/local_targets.h
     scores      float[n][2]                     out: Forward score in nats, expected number of correct residues
     ratios      float[n][n_kinds]               out: how much likelier each residue is than in the background
     begins      int[n][3]                       out: first residue and node of the alignment, counted from 0, and where
                                                 its text begins; -1 there on overflow
     states, chances   uchar[]                   out: state and posterior probability of each step of the alignment */

#include "common/local_rows.h"
#include "common/local_targets.h"
#include "common/accuracy.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Backward of all problems: the pairs become its products with Forward; of each row, the products of N and C, what
   Forward was divided by (in the slot of E), and the quotient of the divisors stay. Returns 1 / N of the first row. */
CALL reals pair_up(const team_t *team, const targets_t *t, grid m, grid pairs_m, grid pairs_i, slots_t slots,
                   const ends_t *ends)
{
    grid i = m + AT(team->vectors), d = i + AT(team->vectors);
    specials_t s = {NONE, NONE, NONE, NONE, NONE};
    masks own = (masks)(0);
    const reals length = from_each(t->length);
    for (int q = 0; q < team->vectors; q++) m[AT(q)] = i[AT(q)] = d[AT(q)] = NONE;
    for (int x = t->longest; x > 0; x--) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        slots_t slot = slots + FEW(x * N_SLOTS), before = slot - FEW(N_SLOTS);
        const reals forward_scale = SPREAD(slot[FEW(SLOT_SCALE)]);
        backward_row(team, m, i, d, &s, length == (float)x, ends, &emission);
        const reals scale = scale_backward(team, m, i, d, &s, &own, forward_scale);
        slot[FEW(SLOT_N)] = PACK(SPREAD(before[FEW(SLOT_N)]) * s.n * ends->loop);
        slot[FEW(SLOT_C)] = PACK(SPREAD(before[FEW(SLOT_C)]) * s.c * ends->loop);
        slot[FEW(SLOT_E)] = PACK(forward_scale);
        slot[FEW(SLOT_SCALE)] = PACK(quotient(forward_scale, scale));
        grid row_m = pairs_m + AT(x * team->vectors), row_i = pairs_i + AT(x * team->vectors);
        for (int q = 0; q < team->vectors; q++) {
            row_m[AT(q)] = row_m[AT(q)] * m[AT(q)];
            row_i[AT(q)] = row_i[AT(q)] * i[AT(q)];
        }
    }
    const emission_t emission = emissions_at(team, t->codes, t->length, 0);
    return quotient((reals)(1.0f), before_first(team, m, s, ends, &emission).n);
}

/* What the alignments and the composition need of all rows. */
typedef struct { lanes_t factor, best, exit_row, exit_at, used_n, used_c; } aligned_t;

/* The sums of all rows; what a product must be multiplied by is left in the slot of B. */
CALL aligned_t align(const team_t *team, const targets_t *t, sums_t sums, grid pairs_m, grid pairs_i, cells_t cells,
                     slots_t slots, reals factor)
{
    const reals length = from_each(t->length);
    reals b = NONE, c = NEVER, exit_row = NONE, exit_at = NONE, used_n = NONE, used_c = NONE;
    for (int q = 0; q < team->vectors; q++) {
        sums.m[AT(q)] = sums.i[AT(q)] = sums.d[AT(q)] = NEVER;
        sums.used_m[AT(q)] = sums.used_i[AT(q)] = NONE;
    }
    for (int x = 1; x <= t->longest; x++) {
        slots_t slot = slots + FEW(x * N_SLOTS);
        const masks inside = length >= (float)x;
        const reals by = inside ? factor * SPREAD(slot[FEW(SLOT_E)]) : NONE;
        const reals chance_n = inside ? SPREAD(slot[FEW(SLOT_N)]) * factor : NONE;
        const reals chance_c = inside ? SPREAD(slot[FEW(SLOT_C)]) * factor : NONE;
        reals at;
        const int row = AT(x * team->vectors);
        const reals e = accuracy_row(team, sums, pairs_m + row, pairs_i + row, by, b,
                                     cells + row - AT(team->vectors), &at);
        const reals stays = c + chance_c;
        const masks leaves = inside & (stays <= e);
        slot[FEW(SLOT_B)] = PACK(by);
        c = inside ? LARGER(stays, e) : c;
        exit_row = leaves ? (reals)((float)x) : exit_row;
        exit_at = leaves ? at : exit_at;
        b = b + chance_n;
        used_n = used_n + chance_n;
        used_c = used_c + chance_c;
        factor = inside ? factor * SPREAD(slot[FEW(SLOT_SCALE)]) : factor;
    }
    aligned_t a;
    a.factor.v = factor;
    a.best.v = c;
    a.exit_row.v = exit_row;
    a.exit_at.v = exit_at;
    a.used_n.v = used_n;
    a.used_c.v = used_c;
    return a;
}

/* How much likelier each kind of residue is in the mean emissions of the states than in the background. */
CALL void compose(const team_t *team, const targets_t *t, sums_t sums, const aligned_t *a,
                  __global const uchar *residues, int n_kinds, __global float *ratios)
{
    const reals by = quotient((reals)(1.0f), from_each(t->length));
    const reals outside = a->used_n.v * by + a->used_c.v * by;
    for (int q = 0; q < team->vectors; q++) {
        sums.used_m[AT(q)] = sums.used_m[AT(q)] * by;
        sums.used_i[AT(q)] = sums.used_i[AT(q)] * by;
    }
    for (int kind = 0; kind < n_kinds; kind++) {
        table_t emission = team->emissions + EMISSION_ROW(residues[kind] * team->vectors);
        lanes_t ratio;
        reals sum = NONE;
        for (int q = 0; q < team->vectors; q++) {
            sum = sum + sums.used_m[AT(q)] * WIDE_AT(emission, q);
            sum = sum + sums.used_i[AT(q)];
        }
        ratio.v = total(team, sum) + outside;
        for (int s = 0; s < PROBLEMS; s++)
            if (t->place[s] >= 0 && LEADS) ratios[t->place[s] * n_kinds + kind] = OF(ratio, s);
    }
}

__kernel KERNEL_ATTRIBUTES
void rescore(__global const uchar *codes, __global const int *parts, __global const int *order, const uint n,
             __global const int *text_at, const int vectors, const int longest, table_t steps, table_t emissions,
             __global const uchar *residues, const int n_kinds, __global uint *next, grid rows, grid pairs,
             cells_t cells, slots_t slots, __global float *scores, __global float *ratios, __global int *begins,
             __global uchar *states, __global uchar *chances)
{
    LOCAL_SCRATCH
    TEAM(team, steps, emissions, vectors);
    const size_t row = AT(vectors), n_cells = AT((size_t)(longest + 1) * vectors);
    grid m = rows + ITEM * 8 * row + FIRST_LANE;
    grid pairs_m = pairs + ITEM * 2 * n_cells + FIRST_LANE, pairs_i = pairs_m + n_cells;
    const sums_t sums = {m + 3 * row, m + 4 * row, m + 5 * row, m + 6 * row, m + 7 * row};
    cells += ITEM * AT((size_t)longest * vectors) + FIRST_LANE;
    slots += ITEM * FEW((longest + 1) * N_SLOTS) + PROBLEM(0);
    for (uint first = TAKE_NEXT(next); first < n; first = TAKE_NEXT(next)) {
        targets_t t;
        int whole[PROBLEMS];
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = first + PROBLEM(s) < n ? order[first + PROBLEM(s)] : -1;
            __global const int *part = parts + 3 * (place < 0 ? 0 : place);
            whole[s] = part[2];
            place_target(&t, s, place, place < 0 ? 0 : part[1], codes + part[0]);
        }
        t.longest = LONGEST_OF_ALL(t.longest);
        const ends_t ends = ends_for(whole, 1);
        forward_targets(&team, &t, pairs_m, pairs_i, m, vectors, 0, slots, &ends);
        const reals factor = pair_up(&team, &t, m, pairs_m, pairs_i, slots, &ends);
        const aligned_t a = align(&team, &t, sums, pairs_m, pairs_i, cells, slots, factor);
        compose(&team, &t, sums, &a, residues, n_kinds, ratios);
        TOGETHER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = t.place[s];
            if (place < 0 || !LEADS) continue;
            const trace_t trace = {RAW_GRID(pairs_m + row, s), RAW_GRID(pairs_i + row, s), RAW_SLOTS(slots, s),
                                   RAW_CELLS(cells, s), vectors};
            int start[2] = {0, 0};
            const int at = (int)OF(a.exit_at, s) + SABOTAGE;
            begins[3 * place + 2] = isfinite(OF(a.factor, s))
                ? walk_back(&trace, (int)OF(a.exit_row, s), at, states, chances, text_at[place + 1], start)
                : -1;
            begins[3 * place] = start[0];
            begins[3 * place + 1] = start[1];
            scores[2 * place] = t.score[s];
            scores[2 * place + 1] = OF(a.best, s);
        }
        TOGETHER;
    }
}
