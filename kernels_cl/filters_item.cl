/* What passes a filter of HMMER3 goes on a list for the next one; the lists never leave the device.

   Scores are in nats. A target passes if its score lies at least so far above that of the null model, or
   of the bias filter; the limits are the least differences whose P-values do.

   Buffers, by sequence
     offsets     int[n + 1]     where each begins
     moves       uchar[n]       cost of leaving N, C and J in 8-bit units
     null        float[n]       score of the null model
     unscored    int[n]         1 where SSV was not run
   By model and sequence
     extremes    int[][n]       best cell of SSV and 256
     msv, bias, viterbi, forward   float[][n]  scores, the last three only of what passed MSV
   Lists, by model: rows int[][n] and their counts uint[]; scores by the place in the list: levels uchar[][n],
   scores float[][n].
     nats        float[511]     score of a level, 255 less the move added
     models      limits_t[]     what passes, and what the 8-bit scores are made with
     found       uint4[]        out: row, bias, Viterbi and Forward score of what passed MSV, model after model

   Geometry: any; each kernel strides over its list. */

#include "common/msv.h"

#define MAX_ENTRY 127

#define EACH(p, n) for (uint p = get_global_id(0); p < (n); p += get_global_size(0))

typedef struct {
    int into, bias;                    /* 8-bit: cost from B to any node, bias of the scores */
    float msv, sure, viterbi, forward; /* the least differences that pass; from `sure` on the Viterbi filter is left out */
} limits_t;

void append(__global int *rows, __global uint *count, int row)
{
    rows[atomic_inc(count)] = row;
}

/* The level of J that the best cell of SSV means, or -1 if only MSV knows it. */
int level_of(int extreme, int move, int into, int bias)
{
    const int top = 255 - bias, enter = MSV_BASE - move - into;
    if (extreme >= top) return enter < 128 ? -1 : MSV_OVERFLOW;
    extreme += enter - 128;
    if (extreme >= top) return MSV_OVERFLOW;
    return extreme - MSV_E_MOVE > MSV_BASE ? -1 : extreme - MSV_E_MOVE;
}

float score_of(int level, int move, __constant const float *nats)
{
    return level == MSV_OVERFLOW ? INFINITY : nats[level - move + 255];
}

__kernel void after_ssv(__global const int *extremes, __global const int *unscored, __global const int *offsets,
                        __global const uchar *moves, __global const float *null, __constant const float *nats,
                        const uint n, __global const limits_t *models, const uint n_models, __global float *msv,
                        __global int *passed, __global uint *n_passed, __global int *open, __global uint *n_open)
{
    for (uint m = 0; m < n_models; m++) {
        const limits_t model = models[m];
        const uint first = m * n;
        EACH(row, n) {
            const uint place = first + row;
            msv[place] = NAN;
            if (offsets[row] == offsets[row + 1]) continue;
            const int move = moves[row];
            int level = -1;
            if (!unscored[row] && move + model.into + MSV_E_MOVE + model.bias < MAX_ENTRY)
                level = level_of(extremes[place], move, model.into, model.bias);
            if (level < 0) {
                append(open + first, n_open + m, row);
            } else {
                msv[place] = score_of(level, move, nats);
                if (msv[place] - null[row] >= model.msv) append(passed + first, n_passed + m, row);
            }
        }
    }
}

/* A target without feedback through J, which SSV would have decided, scores no less than SSV can. */
__kernel void after_msv(__global const int *open, __global const uint *n_open, __global const uchar *levels,
                        __global const uchar *moves, __global const float *null, __constant const float *nats,
                        const uint n, __global const limits_t *models, const uint n_models, __global float *msv,
                        __global int *passed, __global uint *n_passed)
{
    for (uint m = 0; m < n_models; m++) {
        const limits_t model = models[m];
        const uint first = m * n;
        EACH(p, n_open[m]) {
            const int row = open[first + p], move = moves[row];
            const int floor = MSV_BASE - move - model.into - MSV_E_MOVE;
            int level = levels[first + p];
            if (level < floor && move + model.into + MSV_E_MOVE + model.bias < MAX_ENTRY) level = floor;
            const float score = score_of(level, move, nats);
            msv[first + row] = score;
            if (score - null[row] >= model.msv) append(passed + first, n_passed + m, row);
        }
    }
}

__kernel void after_bias(__global const int *passed, __global const uint *n_passed, __global const float *scores,
                         const int is_used, const uint n, __global const limits_t *models, const uint n_models,
                         __global const float *msv, __global const float *null, __global float *bias,
                         __global float *viterbi, __global float *forward, __global int *to_viterbi,
                         __global uint *n_to_viterbi, __global int *to_forward, __global uint *n_to_forward)
{
    for (uint m = 0; m < n_models; m++) {
        const limits_t model = models[m];
        const uint first = m * n;
        EACH(p, n_passed[m]) {
            const uint row = passed[first + p], place = first + row;
            bias[place] = is_used ? scores[first + p] : null[row];
            viterbi[place] = forward[place] = NAN;
            const float above = msv[place] - bias[place];
            if (!(above >= model.msv)) continue;
            if (above >= model.sure)
                append(to_forward + first, n_to_forward + m, row);
            else
                append(to_viterbi + first, n_to_viterbi + m, row);
        }
    }
}

__kernel void after_viterbi(__global const int *to_viterbi, __global const uint *n_to_viterbi,
                            __global const float *scores, const uint n, __global const limits_t *models,
                            const uint n_models, __global const float *bias, __global float *viterbi,
                            __global int *to_forward, __global uint *n_to_forward)
{
    for (uint m = 0; m < n_models; m++) {
        const float least = models[m].viterbi;
        const uint first = m * n;
        EACH(p, n_to_viterbi[m]) {
            const uint row = to_viterbi[first + p];
            const float score = scores[first + p];
            viterbi[first + row] = score;
            if (score - bias[first + row] >= least) append(to_forward + first, n_to_forward + m, row);
        }
    }
}

__kernel void after_forward(__global const int *to_forward, __global const uint *n_to_forward,
                            __global const float *scores, const uint n, const uint n_models, __global float *forward)
{
    for (uint m = 0; m < n_models; m++)
        EACH(p, n_to_forward[m]) forward[m * n + to_forward[m * n + p]] = scores[m * n + p];
}

/* What passed MSV of all models, one model after the other without gaps. */
__kernel void collect(__global const int *passed, __global const uint *n_passed, const uint n, const uint n_models,
                      __global const float *bias, __global const float *viterbi, __global const float *forward,
                      __global uint4 *found)
{
    uint before = 0;
    for (uint m = 0; m < n_models; m++) {
        EACH(p, n_passed[m]) {
            const uint row = passed[m * n + p], place = m * n + row;
            found[before + p] = (uint4)(row, as_uint(bias[place]), as_uint(viterbi[place]), as_uint(forward[place]));
        }
        before += n_passed[m];
    }
}
