/* Posteriors or expected counts of a pair HMM: the shape for CPUs.

   A work-item is a core, which takes one pair after the other. It computes Forward in strips of rows, of which it keeps
   what is above each; then, from the last strip to the first, Forward again with all numbers kept and Backward beside
   it. What they are computed in: common/pair_hmm_tiles.h.

   Buffers
     queries, targets  uchar[]      letter codes of x and y
     pairs     int8[n]              of each pair: first residue and length of x and of y, both > 0; rows of a strip, a
                                    multiple of TILE_ROWS; number of its emissions; most entries; first of its gaps
     letters   uchar[32]            place of each letter code in the emissions
     odds      float[][A][A]        emissions of pairs over those of gaps, A = n_letters
     steps     float[n][8]          match to match, match to end; for each set of gaps: open, extend, close
     next      uint[2]              in: 0; the next pair to be taken, and the entries that are there
     scratch   float8[items][room]  what a pair is computed in
     results   float[n][N_HMM_RESULTS]  out: see below
     COUNTS 1:
     matches   float[n][A][A]       out: expected pairs of residues
     COUNTS 0:
     entries   int2[n_entries]      out: places of the residues of posteriors that are kept, each pair's in order
     values    float[n_entries]     out: the posteriors
     found     uint2[n]             out: entries of each pair, and where they begin; if there are more than its most, or
                                    if they go beyond n_entries, they are not there
     gaps      float[]              out: what is left of 1, for the residues of x, then of y, of each pair

   Scalars: n, n_letters, room, least (posterior that is kept), n_entries

   Macros
     SETS       sets of gap states: 1 or 2
     COUNTS     1 for expected counts, 0 for posteriors
     SABOTAGE   1, 2 plant faults, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take pairs from a counter. */

#include "common/pair_hmm_pairs.h"

/* The odds of each letter against y, column by column; a row in which only Start is, and one without anything. */
void fill_odds(const hmm_pair_t *p, __global const float *table)
{
    __global float *row = (__global float *)p->odds;
    const int width = p->blocks * TILE_COLUMNS, rest = (p->n_letters + 2) * width;
    for (int j = 0; j < rest; j++) row[j] = 0.0f;
    for (int a = 0; a < p->n_letters; a++, row += width, table += p->n_letters)
        for (int j = 0; j < p->n; j++) row[j + 1] = table[p->places[p->y[j]]];
    row[0] = 1.0f;
}

/* Where the rows of a group have their odds. */
CALL void letters_of(const hmm_pair_t *p, int group, int *letters)
{
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const int i = group * TILE_ROWS + r;
        letters[r] = p->blocks * (i == 0 ? p->n_letters : i > p->m ? p->n_letters + 1 : p->places[p->x[i - 1]]);
    }
}

/* A group of rows forwards; `states` and `units` of the group get what is computed, unless 0. */
CALL void forward_group(const hmm_pair_t *p, const hmm_factors_t *f, int group, __global float8 *states,
                        __global int *units)
{
    int letters[TILE_ROWS], unit_before = 0, unit_after = 0;
    tile_edge_t edges[TILE_ROWS];
    letters_of(p, group, letters);
    for (int r = 0; r < TILE_ROWS; r++) {
        edges[r].corner = (float8)(1.0f); /* what goes into M of Start; no other M is in column 0 */
        for (int k = 0; k < SETS; k++) edges[r].gaps[k] = (float8)(0.0f);
    }
    for (int b = 0; b < p->blocks; b++) {
        __global float8 *kept = p->kept + b * N_KEPT;
        const int unit = group ? p->units[b] : unit_after;
        const float ratio = b ? power_of_2(unit_before - unit) : 1.0f;
        if (units) units[b] = unit;
        unit_after = unit_before = unit;
        __global float8 *here = states ? states + b * N_STATES : 0;
        const int stride = p->blocks * N_STATES;
        unit_after += group == 0 && b == 0 ? forward_tile(f, p->odds + b, letters, kept, edges, ratio, here, stride, 1)
                                           : forward_tile(f, p->odds + b, letters, kept, edges, ratio, here, stride, 0);
        p->units[b] = unit_after;
    }
}

void forward_strip(const hmm_pair_t *p, const hmm_factors_t *f, int strip, int is_kept)
{
    const int first = strip * p->strip_groups, end = min(first + p->strip_groups, p->n_groups);
    for (int g = first; g < end; g++) {
        const size_t place = (size_t)(g - first) * p->blocks;
        if (is_kept)
            forward_group(p, f, g, p->states + place * TILE_ROWS * N_STATES, p->state_units + place);
        else
            forward_group(p, f, g, 0, 0);
    }
}

/* Copy what is above a strip to or from where it is kept. */
CALL void copy_above(const hmm_pair_t *p, int strip, int is_back)
{
    __global float8 *above = p->above + (size_t)strip * p->blocks * N_KEPT;
    __global int *units = p->above_units + (size_t)strip * p->blocks;
    for (int b = 0; b < p->blocks * N_KEPT; b++) {
        if (is_back) p->kept[b] = above[b];
        else above[b] = p->kept[b];
    }
    for (int b = 0; b < p->blocks; b++) {
        if (is_back) p->units[b] = units[b];
        else units[b] = p->units[b];
    }
}

/* Forward of all strips, of which the last one keeps its numbers; `results` gets what is in the last cell. */
void forward_pair(const hmm_pair_t *p, const hmm_factors_t *f, __global float *results)
{
    for (int b = 0; b < p->blocks * N_KEPT; b++) p->kept[b] = (float8)(0.0f);
    for (int s = 0; s < p->n_strips; s++) {
        copy_above(p, s, 0);
        forward_strip(p, f, s, s == p->n_strips - 1);
    }
    const int row = p->m - (p->n_strips - 1) * p->strip_groups * TILE_ROWS, b = p->n / TILE_COLUMNS;
    __global const float *last = (__global const float *)(p->states + ((size_t)row * p->blocks + b) * N_STATES);
    last += p->n % TILE_COLUMNS;
    float gaps[2] = {0.0f, 0.0f}, sum = last[0];
    for (int k = 0; k < SETS; k++) {
        gaps[k] = last[(1 + 2 * k) * TILE_COLUMNS] + last[(2 + 2 * k) * TILE_COLUMNS];
        sum += gaps[k];
    }
    write_total(last[0], gaps, sum, f->end, p->state_units[row / TILE_ROWS * p->blocks + b], results);
}

/* A group of rows backwards, the one of so many in its strip; return how many posteriors are kept by now. */
CALL int backward_group(const hmm_pair_t *p, const hmm_factors_t *f, int group, int place, __global float *results,
                        gap_sums_t *sums, float least, int n_found, int most)
{
    int letters[TILE_ROWS], unit_before = 0, unit_after = 0;
    tile_edge_t edges[TILE_ROWS];
    letters_of(p, group, letters);
    for (int r = 0; r < TILE_ROWS; r++) {
        edges[r].corner = (float8)(0.0f);
        for (int k = 0; k < SETS; k++) edges[r].gaps[k] = (float8)(0.0f);
    }
    const int stride = p->blocks * N_STATES, exponent = (int)results[EXPONENT], is_last = group == p->n_groups - 1;
    __global const float8 *states = p->states + (size_t)place * TILE_ROWS * stride;
    __global const int *state_units = p->state_units + (size_t)place * p->blocks;
    const float over_total = reciprocal_of(results[MANTISSA]);
    tile_row_t end;
    end.v = (float8)(0.0f);
    end.lane[p->n % TILE_COLUMNS] = f->end;
    for (int b = p->blocks - 1; b >= 0; b--) {
        const int unit = is_last ? unit_after : p->units_back[b];
        const float ratio = power_of_2(unit_before - unit);
        const float scale = power_of_2(state_units[b] + unit - exponent) * over_total;
        const int is_end = is_last && b == p->blocks - 1, is_start = group == 0 && b == 0;
        __global const float8 *odds = p->odds + b, *here = states + b * N_STATES;
        __global float8 *kept = p->kept_back + b * N_KEPT;
        float8 matches[TILE_ROWS];
        unit_before = unit;
        if (is_end || is_start) {
            float start[SETS + 1];
            unit_after = unit + backward_tile(f, odds, letters, kept, edges, ratio, here, stride, scale, matches, sums,
                                              is_end ? p->m % TILE_ROWS : -1, end.v, start);
            for (int k = 0; k < 2 && is_start; k++) results[STARTS + k] = k < SETS ? start[k] * scale : 0.0f;
            if (is_start) results[BACKWARDS] = start[SETS] * scale;
        } else
            unit_after = unit + backward_tile(f, odds, letters, kept, edges, ratio, here, stride, scale, matches, sums,
                                              -1, end.v, 0);
        p->units_back[b] = unit_after;
#if COUNTS
#pragma unroll
        for (int r = 0; r < TILE_ROWS; r++) p->shares[letters[r] + b] += TO_WHOLES(matches[r], OF_MATCH);
#else
        const float8 one = LARGER(matches[0], matches[1]), other = LARGER(matches[2], matches[3]);
        if (any_at_least(LARGER(one, other), least)) n_found = list_tile(p, matches, least, group, b, n_found, most);
#endif
    }
    return n_found;
}

CALL long sum_of_lanes(int8 v)
{
    union { int8 v; int lane[8]; } u;
    u.v = v;
    long sum = 0;
    for (int lane = 0; lane < 8; lane++) sum += u.lane[lane];
    return sum;
}

/* Backward of all strips; return how many posteriors are kept. */
int backward_pair(const hmm_pair_t *p, const hmm_factors_t *f, __global float *results, float least, int most)
{
    long extends[SETS] = {0}, closes[SETS] = {0};
    int n_found = 0;
    for (int b = 0; b < p->blocks * N_KEPT; b++) p->kept_back[b] = (float8)(0.0f);
    for (int j = 0; COUNTS && j < (p->n_letters + 2) * p->blocks; j++) p->shares[j] = (int8)(0);
    for (int s = p->n_strips - 1; s >= 0; s--) {
        if (s < p->n_strips - 1) {
            copy_above(p, s, 1);
            forward_strip(p, f, s, 1);
        }
        const int first = s * p->strip_groups;
        for (int g = min(first + p->strip_groups, p->n_groups) - 1; g >= first; g--) {
            gap_sums_t sums;
            for (int k = 0; k < SETS; k++) sums.extends[k] = sums.closes[k] = (halves_t){(int8)(0), (int8)(0)};
            n_found = backward_group(p, f, g, g - first, results, &sums, least, n_found, most);
            for (int k = 0; k < SETS; k++) {
                extends[k] += 65536 * sum_of_lanes(sums.extends[k].upper) + sum_of_lanes(sums.extends[k].lower);
                closes[k] += 65536 * sum_of_lanes(sums.closes[k].upper) + sum_of_lanes(sums.closes[k].lower);
            }
        }
    }
    for (int k = 0; k < 2; k++) {
        results[EXTENDS + k] = k < SETS ? (float)extends[k] * (1.0f / OF_STEPS) : 0.0f;
        results[CLOSES + k] = k < SETS ? (float)closes[k] * (1.0f / OF_STEPS) : 0.0f;
    }
    return n_found;
}

CALL void open_pair(hmm_pair_t *p, int8 place, __global const uchar *queries, __global const uchar *targets,
                    __global const uchar *places, int n_letters, __global float8 *scratch, __global const float *odds)
{
    p->m = place.s1;
    p->n = place.s3;
    p->blocks = p->n / TILE_COLUMNS + 1;
    p->strip_groups = place.s4 / TILE_ROWS;
    p->n_groups = p->m / TILE_ROWS + 1;
    p->n_strips = (p->n_groups + p->strip_groups - 1) / p->strip_groups;
    p->n_letters = n_letters;
    p->x = queries + place.s0;
    p->y = targets + place.s2;
    p->places = places;
    lay_out(p, scratch);
    fill_odds(p, odds + place.s5 * n_letters * n_letters);
}

__kernel void pair_hmm(PAIR_HMM_PARAMETERS(float8))
{
    scratch += get_global_id(0) * room;
    for (uint row = atomic_inc(next); row < n; row = atomic_inc(next)) {
        hmm_pair_t pair;
        hmm_factors_t factors;
        open_pair(&pair, pairs[row], queries, targets, letters, n_letters, scratch, odds);
        load_factors(&factors, steps + row * N_STEPS);
        forward_pair(&pair, &factors, results + row * N_HMM_RESULTS);
#if COUNTS
        backward_pair(&pair, &factors, results + row * N_HMM_RESULTS, 0.0f, 0);
        write_matches(&pair, matches + (size_t)row * n_letters * n_letters);
#else
        const int most = pairs[row].s6;
        const uint n_found = backward_pair(&pair, &factors, results + row * N_HMM_RESULTS, least, most);
        const uint first = n_found <= most ? atomic_add(next + 1, n_found) : n_entries;
        found[row] = (uint2)(n_found, first);
        if (n_found <= most && n_found <= n_entries - min(first, n_entries))
            write_listed(&pair, n_found, entries + first, values + first, gaps + pairs[row].s7);
#endif
    }
}
