/* Several sequences at once in one work-item, each in a place of its own that takes the next sequence when
   its last one has ended: those of different lengths do not wait for each other.

   A place without a sequence stands still at a residue, so that the work-item need not ask. */

typedef struct {
    __global const uchar *code; /* the next residue */
    uint position;              /* in the list of rows */
    int row;
    int left;                   /* residues */
    int advance;                /* 1; 0 without a sequence */
} place_t;

/* Take the next sequence that has residues from the list; return 0 if there is none. `next` counts those
   that were taken; sequences without residues get their score here, which is not a number. */
int take_next(place_t *place, __global const uchar *codes, __global const int *offsets, __global const int *rows,
              uint n, __global uint *next, __global float *scores)
{
    for (uint p = atomic_inc(next); p < n; p = atomic_inc(next)) {
        const int row = rows[p], length = offsets[row + 1] - offsets[row];
        if (length > 0) {
            place->code = codes + offsets[row];
            place->position = p;
            place->row = row;
            place->left = length;
            place->advance = 1;
            return 1;
        }
        scores[p] = NAN;
    }
    place->code = codes;
    place->left = INT_MAX;
    place->advance = 0;
    return 0;
}

/* Return the letter code of the next residue and go on to the one after it. */
uint next_code(place_t *place)
{
    const uint code = *place->code;
    place->code += place->advance;
    place->left -= place->advance;
    return code;
}
