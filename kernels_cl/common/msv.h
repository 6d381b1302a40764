/* The special states of MSV, with the 8-bit scores of HMMER3: thirds of a bit, MSV_BASE added. */

#define MSV_BASE 190
#define MSV_E_MOVE 3
#define MSV_OVERFLOW 255

/* The score of J, which is that of C, and of B; `enter` is the cost from J or N to any node. */
typedef struct { int level, begin, enter; } msv_specials_t;

/* Before the first residue; `move` is the cost of leaving N, C and J, `into` that from B to any node. */
msv_specials_t msv_specials_at_start(int move, int into)
{
    msv_specials_t s;
    s.level = 0;
    s.enter = (move + into) & 255;
    s.begin = MSV_BASE > s.enter ? MSV_BASE - s.enter : 0;
    return s;
}

/* After a residue whose best cell is e. */
msv_specials_t msv_specials_after(msv_specials_t s, int e, int bias)
{
    const int level = e - MSV_E_MOVE > s.level ? e - MSV_E_MOVE : s.level;
    const int before = level > MSV_BASE ? level : MSV_BASE;
    s.level = e + bias >= 255 ? MSV_OVERFLOW : level;
    s.begin = before > s.enter ? before - s.enter : 0;
    return s;
}
