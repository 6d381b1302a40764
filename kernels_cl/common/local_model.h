/* What rows of HMMER3's local alignments are computed with: a model, the residues, and the states outside of it.

   Tables, those of all models of a launch one after the other
     models       int[][N_MODEL_NUMBERS]
     transitions  float[Q][N_LOCAL_TRANSITIONS][4]   0 where impossible
     emissions    float[N_CODES][Q][4] */

#include "common/codes.h"
#include "common/simd4.h"

/* A row with a larger E is divided by it; beyond this B, Backward divides by terms of its own. */
#define LARGEST_SUM 1e4f
#define LARGEST_BEGIN 1e16f

/* What is below this share of the value that it is added to changes no bit of it, here nor further on. */
#define NO_SHARE 0x1p-26f

typedef struct { reals n, e, j, b, c; } local_specials_t;

/* Probabilities outside the model. */
typedef struct { reals move, loop, e_to_c, e_to_j; } length_model_t;

/* Of a model: vectors of a row, nodes, and vectors of all models before it. */
enum { MODEL_VECTORS, MODEL_NODES, VECTORS_BEFORE, N_MODEL_NUMBERS };

CALL void take_model(team_t *team, __global const int *model, table_t transitions, table_t emissions)
{
    team->vectors = model[MODEL_VECTORS];
    team->transitions = transitions + TABLE_ROW((size_t)model[VECTORS_BEFORE] * N_LOCAL_TRANSITIONS);
    team->emissions = emissions + TABLE_ROW((size_t)model[VECTORS_BEFORE] * N_CODES);
}

/* The rows of emissions of the residues at x, one for each problem. */
CALL emission_t emissions_at(const team_t *team, __global const uchar *const *codes, const int *length, int x)
{
    emission_t e;
#pragma unroll
    for (int s = 0; s < PROBLEMS; s++) {
        const uint code = x < length[s] ? codes[s][x] : NO_CODE;
        e.row[s] = team->emissions + TABLE_ROW(code * team->vectors);
    }
    return e;
}

/* The special states before a residue, given B; returns E. */
CALL reals local_specials_before(local_specials_t *s, reals b, masks at_end, const length_model_t *ends)
{
    s->b = b;
    s->c = at_end ? ends->move : s->c * ends->loop;
    s->j = b * ends->move + s->j * ends->loop;
    s->n = b * ends->move + s->n * ends->loop;
    s->e = s->c * ends->e_to_c + s->j * ends->e_to_j;
    return s->e;
}

/* `v` where a transition is possible. */
#define IF_POSSIBLE(team, q, which, v) (TRANS(team, q, which) > 0.0f ? (v) : NEGATIVE_INFINITY)
