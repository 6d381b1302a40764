/* A piece of a sequence that a group of lanes takes.

   `pieces` has for each: the place of its sequence in the list `rows`, its first residue, its residues. Once it
   was scored, the latter two are of the stretch of it to which J may matter (no residues if there is none).
   Beyond the ends of a piece there is NO_CODE, which matches nowhere. */

typedef struct {
    __global const uchar *code;
    int length; /* 0 if there is none */
    int number; /* -1 if there is none */
    int place, from;
    int most;        /* the highest M above B for which J plays no part */
    int first, last; /* rows of this lane between which M was higher */
} piece_t;

/* Every sequence has a piece at its place, and `n_more` of them are in others after these, which are taken first. */
piece_t piece_at(uint turn, uint n, uint n_more, __global const int4 *pieces, __global const uchar *codes,
                 __global const int *offsets, __global const short *moves, __global const int *rows)
{
    piece_t s = {codes, 0, -1, 0, 0, 0, LONGEST, 0};
    if (turn < n + n_more) {
        s.number = (int)(turn < n_more ? n + turn : turn - n_more);
        const int4 piece = pieces[s.number];
        const int row = rows[piece.x];
        s.place = piece.x;
        s.from = piece.y;
        s.length = piece.z;
        s.code = codes + offsets[row] + piece.y;
        s.most = SINGLE_MOST - WORD_BASE - moves[row];
    }
    return s;
}

uint code_at(const piece_t *s, int i)
{
    return (uint)i < (uint)s->length ? s->code[i] : NO_CODE;
}

/* Take note of the highest M of some rows, `end` excluded. */
void note_rows(piece_t *s, int highest, int begin, int end)
{
    if (highest > s->most) {
        s->first = min(s->first, begin);
        s->last = end;
    }
}

/* What all lanes know of a piece, in each of them. */
void gather_notes(piece_t *s, uint lane, __local int *scratch)
{
    s->first = -lane_max(-s->first, lane, scratch);
    s->last = lane_max(s->last, lane, scratch);
}

/* Write the stretch to which J may matter: from where an alignment may begin, which has up to `reach` residues and
   reaches an M so high, to the last such M; to the end if that is not for sure, since `best`, the highest of all, is
   beyond what is `trusted`. */
void put_stretch(const piece_t *s, int reach, int best, int trusted, __global int4 *pieces)
{
    const int from = max(s->first - reach, 0), to = best > trusted ? s->length : min(s->last, s->length);
    pieces[s->number] = s->last > 0 ? (int4)(s->place, s->from + from, to - from, 0) : (int4)(s->place, 0, 0, 0);
}
