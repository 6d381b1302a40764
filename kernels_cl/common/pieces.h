/* A piece of a sequence that a group of lanes takes.

   `pieces` has for each: the place of its sequence in the list `rows`, its first residue, its residues, and,
   once it was scored, its highest M above B.
   Beyond the ends of a piece there is NO_CODE, which matches nowhere. */

typedef struct {
    __global const uchar *code;
    int length; /* 0 if there is none */
    int place;
} piece_t;

piece_t piece_at(uint k, uint n, __global const int4 *pieces, __global const uchar *codes,
                 __global const int *offsets, __global const int *rows)
{
    piece_t s = {codes, 0, 0};
    if (k < n) {
        const int4 piece = pieces[k];
        s.place = piece.x;
        s.code = codes + offsets[rows[piece.x]] + piece.y;
        s.length = piece.z;
    }
    return s;
}

uint code_at(const piece_t *s, int i)
{
    return (uint)i < (uint)s->length ? s->code[i] : NO_CODE;
}

/* Residues that are to be gone through. */
typedef struct { int from, to; } stretch_t;

/* What is left of the k-th piece of a span after `done` residues: nothing if no domain in it makes J matter,
   all of the sequence if the span has no pieces. `begin` is B before any domain. */
stretch_t stretch_at(__global const int4 *pieces, int2 span, int k, int done, int length, int begin)
{
    stretch_t s = {0, length};
    if (span.x >= 0) {
        const int4 piece = pieces[span.x + k];
        s.from = max(piece.y, done);
        s.to = piece.w + begin > SINGLE_MOST ? piece.y + piece.z : 0;
    }
    return s;
}
