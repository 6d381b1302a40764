/* A pair of a pair HMM in the shape for GPUs: where it is computed, and how what is found leaves it. */

#include "common/lanes.h"
#include "common/pair_hmm.h"
#include "common/vectors.h"

#ifndef ROWS
#define ROWS 4
#endif

#define MAX_SCALE 160 /* numbers grow by no more than 2 to the power of 40 from one unit to the next */
#define ODDS_COLUMNS (MAX_LETTERS + 1)
#define N_EDGES (2 + SETS)                  /* what goes from lane to lane: x and y_k, or z and v_k; the unit */
#define N_STEP_WORDS (ROWS * N_STATES + 1)  /* what is kept of a lane's step: states, and the unit */
#define ENTRY_WORDS 4
#define TEAM_BARRIER barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)

typedef struct { float match, end, opens[SETS], extends[SETS], closes[SETS]; } lane_steps_t;

/* D of the rows of a lane, as far as the block of columns goes that it is in: what went into it in the last column, the
   sums of two of the last two columns, what came from the block before; then D of the next column. */
typedef struct { float single[ROWS], pair[ROWS], pair_before[ROWS], entering[ROWS], next[ROWS]; } lane_chain_t;

typedef struct {
    int m, width, n_strips, n_letters; /* width: columns, of which the first is before y; edges have one more */
    uint lane;
    __local int *scratch;
    __local float *odds;
    __global const uchar *x, *places;
    __global int *edges, *edges_back; /* bits of numbers, and units, which moved as numbers might be flushed */
    __global float *states;
    __global int *columns;  /* the letter of each */
    __global int *row_ends; /* where the entries of each row end; before, how many there are */
    __global int *list;     /* entries as they are found: row, column, value, how many of the row came before */
} hmm_team_t;

/* Lay the scratch memory of a pair out: see `lanes_room` of the stage. */
CALL void lay_team_out(hmm_team_t *p, __global float *scratch)
{
    const size_t width = p->width, of_strip = N_EDGES * (width + 1);
    p->edges = (__global int *)scratch;
    p->edges_back = p->edges + p->n_strips * of_strip;
    p->states = (__global float *)(p->edges_back + of_strip);
    p->columns = (__global int *)(p->states + (width + LANES) * LANES * N_STEP_WORDS);
    p->row_ends = p->columns + width;
    p->list = p->row_ends + p->m + 1;
}

CALL void load_lane_steps(lane_steps_t *f, __global const float *steps)
{
    f->match = steps[0];
    f->end = steps[1];
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        f->opens[k] = steps[2 + 3 * k];
        f->extends[k] = steps[3 + 3 * k] * (SABOTAGE == 2 ? 1.001f : 1.0f);
        f->closes[k] = steps[4 + 3 * k];
    }
}

/* The letters of the columns, and the odds of those of rows with them: one more row has only Start, one nothing. */
CALL void fill_tables(const hmm_team_t *p, __global const uchar *y, __global const float *table)
{
    for (int j = p->lane; j < p->width; j += LANES) p->columns[j] = j ? p->places[y[j - 1]] : p->n_letters;
    for (int c = p->lane; c < (p->n_letters + 2) * ODDS_COLUMNS; c += LANES) {
        const int a = c / ODDS_COLUMNS, b = c % ODDS_COLUMNS;
        p->odds[c] = a < p->n_letters && b < p->n_letters ? table[a * p->n_letters + b]
                                                          : a == p->n_letters && b == p->n_letters;
    }
    TEAM_BARRIER;
}

CALL int letter_of_row(const hmm_team_t *p, int i)
{
    return i == 0 ? p->n_letters : i > p->m ? p->n_letters + 1 : p->places[p->x[i - 1]];
}

/* What the lane before has to hand on, for the first lane what is at the edge of the strip, unless there is none. */
CALL void take_edges(const hmm_team_t *p, __global const int *edges, int column, const int *handed, int *taken)
{
#pragma unroll
    for (int e = 0; e < N_EDGES; e++) {
        const int fill = edges ? edges[e * (p->width + 1) + column] : 0;
        taken[e] = shuffle_up(handed[e], 1, fill, p->lane, p->scratch);
    }
}

/* What the last lane hands on is at the edge of the strip. */
CALL void leave_edges(const hmm_team_t *p, __global int *edges, int column, const int *handed)
{
    if (p->lane < LANES - 1) return;
#pragma unroll
    for (int e = 0; e < N_EDGES; e++) edges[e * (p->width + 1) + column] = handed[e];
}

/* What Forward comes to. */
CALL void write_last_cell(const hmm_team_t *p, const lane_steps_t *f, __global float *results)
{
    const int row = p->m % (LANES * ROWS), lane = row / ROWS, r = row % ROWS;
    __global const float *last = p->states + (size_t)(p->width - 1 + lane) * LANES * N_STEP_WORDS + lane;
    float gaps[2] = {0.0f, 0.0f}, sum = last[r * N_STATES * LANES];
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        gaps[k] = last[(r * N_STATES + 1 + 2 * k) * LANES] + last[(r * N_STATES + 2 + 2 * k) * LANES];
        sum += gaps[k];
    }
    const int unit = ((__global const int *)last)[ROWS * N_STATES * LANES];
    write_total(last[r * N_STATES * LANES], gaps, sum, f->end, unit, results);
}

CALL void clear_chains(lane_chain_t *chains)
{
#pragma unroll
    for (int k = 0; k < SETS; k++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            chains[k].single[r] = chains[k].pair[r] = chains[k].pair_before[r] = 0.0f;
            chains[k].entering[r] = chains[k].next[r] = 0.0f;
        }
}

/* The sum s = v + e s of the column before, as `chain_ahead` of the other shape has it, of a lane in so many columns of a
   block before this one. */
CALL void go_on(lane_chain_t *d, int r, float v, float e, int n_before)
{
    const float e2 = e * e, power = (n_before & 1 ? e2 : e) * (n_before & 2 ? e2 : 1.0f);
    const float pair = FUSED(n_before ? e : 0.0f, d->single[r], v);
    const float sum = FUSED(n_before >= 2 ? e2 : 0.0f, d->pair_before[r], pair);
    d->entering[r] = n_before ? d->entering[r] : d->next[r];
    d->next[r] = FUSED(power, d->entering[r], sum);
    d->single[r] = v;
    d->pair_before[r] = d->pair[r];
    d->pair[r] = pair;
}

/* What is added up, and found, while Backward goes on. */
typedef struct {
    long extends[SETS], closes[SETS];
    __local int *shares; /* [ROWS][ODDS_COLUMNS][LANES]: matches of each row with each letter */
    __local int *n_found;
    int most;
    float least;
} back_sums_t;

/* Steps of gaps within the rows of a column. */
CALL void add_steps(const lane_steps_t *f, const float *extended, const float *closing, float scale, back_sums_t *sums)
{
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        sums->extends[k] += TO_WHOLE(extended[k] * scale * f->extends[k], OF_STEPS);
        sums->closes[k] += TO_WHOLE(closing[k] * scale * f->closes[k], OF_STEPS);
    }
}

/* A posterior; `n_of_row` were found of its row before. */
CALL void keep_match(const hmm_team_t *p, back_sums_t *sums, int i, int j, float value, int r, int *n_of_row)
{
#if COUNTS
    sums->shares[(r * ODDS_COLUMNS + p->columns[j]) * LANES + p->lane] += TO_WHOLE(value, OF_MATCH);
#else
    if (!(value >= sums->least) || i == 0) return; /* nor what is no number */
    const int place = atomic_inc(sums->n_found);
    if (place < sums->most) {
        __global int *entry = p->list + ENTRY_WORDS * place;
        entry[0] = i - 1;
        entry[1] = j - 1;
        entry[2] = as_int(min(value, 1.0f));
        entry[3] = *n_of_row;
    }
    ++*n_of_row;
#endif
}

/* Add what the rows of a strip matched to the matches of their letters; each lane has letters of y of its own. */
CALL void add_shares(const hmm_team_t *p, __local const int *shares, int strip, __local long *matches)
{
    for (int b = p->lane; b < p->n_letters; b += LANES)
        for (int row = 0; row < ROWS * LANES; row++) {
            const int lane = LANES - 1 - row / ROWS, letter = letter_of_row(p, strip * LANES * ROWS + row);
            const int share = shares[(row % ROWS * ODDS_COLUMNS + b) * LANES + lane];
            if (letter < p->n_letters) matches[letter * p->n_letters + b] += share;
        }
    TEAM_BARRIER;
}

/* The sum over the lanes, in the first of them. */
CALL long team_sum(const hmm_team_t *p, long v, __local long *scratch)
{
    TEAM_BARRIER;
    scratch[p->lane] = v;
    TEAM_BARRIER;
    for (uint lane = 1; p->lane == 0 && lane < LANES; lane++) v += scratch[lane];
    return v;
}

/* Set where the entries of each row end, from how many there are. */
CALL void add_up_rows(const hmm_team_t *p)
{
    const int share = (p->m + LANES - 1) / LANES, first = min((int)p->lane * share, p->m);
    const int end = min(first + share, p->m);
    int sum = 0, before = 0;
    for (int i = first; i < end; i++) sum += p->row_ends[i];
    p->scratch[p->lane] = sum;
    TEAM_BARRIER;
    for (uint lane = 0; lane < p->lane; lane++) before += p->scratch[lane];
    for (int i = first; i < end; i++) p->row_ends[i] = before += p->row_ends[i];
    TEAM_BARRIER;
}

/* The listed posteriors by row and column, and what they leave of 1. */
CALL void write_entries(const hmm_team_t *p, int n_found, __global int2 *entries, __global float *values,
                        __global float *gaps)
{
    add_up_rows(p);
    for (int e = p->lane; e < n_found; e += LANES) { /* those of a row were found from its end on */
        __global const int *entry = p->list + ENTRY_WORDS * e;
        const int place = p->row_ends[entry[0]] - 1 - entry[3];
        entries[place] = (int2)(entry[0], entry[1]);
        values[place] = as_float(entry[2]);
    }
    TEAM_BARRIER;
    for (int i = p->lane; i < p->m; i += LANES) {
        float left = 1.0f;
        for (int e = i ? p->row_ends[i - 1] : 0; e < p->row_ends[i]; e++) left -= values[e];
        gaps[i] = LARGER(left, MIN_GAP);
    }
    gaps += p->m; /* each lane has columns of its own */
    for (int j = p->lane; j < p->width - 1; j += LANES) gaps[j] = 1.0f;
    for (int e = 0; e < n_found; e++)
        if (entries[e].y % LANES == p->lane) gaps[entries[e].y] -= values[e];
    for (int j = p->lane; j < p->width - 1; j += LANES) gaps[j] = LARGER(gaps[j], MIN_GAP);
}
