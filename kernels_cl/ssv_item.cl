/* SSV, the first filter of HMMER3: the best ungapped alignment, for GPUs.

   A work-item takes two sequences at once through a strip of NODES columns of the model, which it holds
   in registers as pairs of 16-bit numbers; then through the next strip: what crosses the edge goes
   through memory. The letters of both make one index into a table of biased scores in local memory.

   Sequences are cut into pieces that overlap by the length of the model, since no ungapped alignment is
   longer. `lay_out` writes the pieces down pair by pair, `pair_tables` makes the tables of the models.

   Tile: NODES columns by two sequences per work-item; set in `stages/hmmer3/ssv_tuning.py`.

   Buffers
     codes     uchar[n_residues]              letter codes, sequence after sequence
     classes   uchar[N_CODES]                 class of each letter; UNSCORED: sequences with it are not scored here
     starts    int[n_pieces]                  where each piece begins in `codes`
     lengths   int[n_pieces]                  in descending order
     targets   int[n_pieces]                  the sequence each is a piece of
     bases     uint[ceil(n_pieces / 64)]      where each 32 pairs begin in `words`
     words     ushort4[n_words]               pairs of classes, four residues a word; 32 pairs are interleaved
     models    model_t[n_models]              see common/models.h; parts: strips; offset: words of `pairs`
     tables    of each model char[n_strips * NODES][CLASSES]   bias less cost of each class
     pairs     of each model uint[n_strips][CLASSES^2][HALF]   see common/pair_strips.h, at two nodes a word
     edges     uint[n_groups][depth][GROUP]   scratch: the cells at the right edge of the last strip
     next      int[1]                         in: 0; the next pairs to be taken, by the group: all of one model after
                                              those of another
     extremes  int[][n]                       in: 0; out: by model, best cell + 256; 0 for sequences not scored
     unscored  int[n]                         in: 0; out: 1 where a letter is UNSCORED

   Macros
     NODES     columns a strip, even; the host gives it and GROUP: the defaults only let this file compile alone
     CLASSES   letters with scores of their own; the last one is for the end of the shorter of two
     ONE_STRIP 1 if that is the whole model: then nothing touches `edges`
     GROUP, STRIDE   see common/pair_strips.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of groups, for `pair_tables` of each model. Local memory: CLASSES^2 * STRIDE * 16 + 4 bytes. */

#ifndef NODES
#define NODES 40
#endif
#ifndef CLASSES
#define CLASSES 22
#endif
#ifndef ONE_STRIP
#define ONE_STRIP 0
#endif
#ifndef GROUP
#define GROUP 128
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define STRIP_WIDTH NODES
#define PAIR_LETTERS CLASSES

#include "common/models.h"
#include "common/pair_strips.h"

#define BEGIN_CELL (-128)

__kernel void lay_out(__global const uchar *codes, __constant const uchar *classes, __global const int *starts,
                      __global const int *lengths, __global const int *targets, const uint n_pieces,
                      __global const uint *bases, __global ushort4 *words, __global int *unscored)
{
    const uint pair = get_global_id(0);
    if (2 * pair >= n_pieces) return;
    const int length = lengths[2 * pair], other = 2 * pair + 1 < n_pieces ? lengths[2 * pair + 1] : 0;
    __global const uchar *a = codes + starts[2 * pair];
    __global const uchar *b = codes + (other > 0 ? starts[2 * pair + 1] : 0);
    const int found = lay_out_pair(a, length, b, other, classes, words + bases[pair / 32] + pair % 32);
    if (found & 1) unscored[targets[2 * pair]] = 1;
    if (found & 2) unscored[targets[2 * pair + 1]] = 1;
}

__kernel void pair_tables(__global const model_t *models, const uint n_models, __global const uchar *tables,
                          __global uint *pairs)
{
    const model_t model = models[MODEL_OF_GROUP(n_models)];
    __global const char *biased_scores = TABLE_OF(char, tables, model, 0);
    EACH_OF_MODEL(k, (uint)model.parts * N_PAIRS * HALF, n_models)
        pairs[model.offset + k] = table_word(biased_scores, k);
}

/* Take two residues' pair of letters through the strip; `left` is the edge of the residues before. */
pair_t next_residue_pair(pair_t *cells, pair_t *best, pair_t left, __local const uint4 *scores)
{
    uint words[HALF_FOURS * 4];
    read_words(words, scores);
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        const pair_t a = ADD_AT_LEAST(left, LOW_PAIR(words[k]), PAIR(BEGIN_CELL));
        const pair_t b = ADD_AT_LEAST(cells[2 * k], HIGH_PAIR(words[k]), PAIR(BEGIN_CELL));
        left = cells[2 * k + 1 - SABOTAGE];
        cells[2 * k] = a;
        cells[2 * k + 1] = b;
        *best = HIGHER_PAIR(HIGHER_PAIR(*best, a), b);
    }
    return cells[NODES - 1];
}

/* Take two sequences through a strip; `edge` has what crosses its left edge, and gets what crosses the right one. */
void take_pair(pair_t *cells, pair_t *best, __local const uint4 *table, __global const ushort4 *word, int length,
               __global pair_t *edge, int is_first)
{
    pair_t top = PAIR(BEGIN_CELL);
#pragma unroll 1
    for (int i = 0; i < length; i += 4, word += 32, edge += 4 * GROUP) {
        const ushort4 four = *word;
        const ushort pairs[4] = {four.x, four.y, four.z, four.w};
        pair_t ahead[4];
#pragma unroll
        for (int r = 0; r < 4; r++) ahead[r] = ONE_STRIP || is_first ? PAIR(BEGIN_CELL) : edge[r * GROUP];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const pair_t right = next_residue_pair(cells, best, top, table + (uint)pairs[r] * STRIDE);
            top = ahead[r];
            if (!ONE_STRIP) edge[r * GROUP] = right;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void ssv_score(__global const ushort4 *words, __global const uint *bases, __global const int *lengths,
               __global const int *targets, const uint n_pieces, const uint n, __global const model_t *models,
               const uint n_models, __global const uint *pairs, __global pair_t *edges, const uint depth,
               __global int *next, __global int *extremes)
{
    __local uint4 local_table[N_PAIRS * STRIDE];
    __local uint taken;
    const uint item = get_local_id(0);
    const uint pairs_per_model = (n_pieces + 2 * GROUP - 1) / (2 * GROUP) * GROUP; /* padded to whole groups */
    __global pair_t *edge = edges + (size_t)get_group_id(0) * depth * GROUP + item;
    for (;;) {
        const uint first = next_pairs(next, &taken, item), m = first / pairs_per_model,
                   pair = first % pairs_per_model + item;
        if (m >= n_models) break;
        const uint n_strips = (uint)models[m].parts;
        __global const uint *table = pairs + models[m].offset;
        __global int *extreme = extremes + models[m].number * n;
        const int length = 2 * pair < n_pieces ? lengths[2 * pair] : 0;
        __global const ushort4 *word = words + bases[2 * pair < n_pieces ? pair / 32 : 0] + pair % 32;
        pair_t best = PAIR(BEGIN_CELL), cells[NODES];
        for (uint strip = 0; strip < n_strips; strip++) {
            load_strip(local_table, table, strip, item);
#pragma unroll
            for (int k = 0; k < NODES; k++) cells[k] = PAIR(BEGIN_CELL);
            take_pair(cells, &best, local_table, word, length, edge, strip == 0);
        }
        if (length > 0) atomic_max(&extreme[targets[2 * pair]], FIRST_OF(best) + 256);
        if (2 * pair + 1 < n_pieces) atomic_max(&extreme[targets[2 * pair + 1]], SECOND_OF(best) + 256);
    }
}
