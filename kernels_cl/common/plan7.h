/* Plan7 with HMMER2's integer scores, 1000 units to the bit. */

#define IMPOSSIBLE (-987654321)

/* Far below every score of a reweighted model (clalign/stages/plan7/reweighting.py), which needs no clamping. */
#define FAR_BELOW (-(1 << 28))

/* Saturate a sum of two scores at minus infinity; two such terms still fit 32 bits, three do not.
   Macros, so that they serve scalars and vectors alike: an argument is evaluated twice, so never pass a
   call that other work-items take part in. */
#define CLAMP(v) ((v) > IMPOSSIBLE ? (v) : IMPOSSIBLE)
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Rows of the table of transition scores, each in the frame of the node that the step enters
   (TMM, TIM, TDM: from node k - 1) or leaves to itself and to the next delete. */
enum { TMM, TIM, TDM, TBM, TMI, TII, TMD, TDD, TME, N_TRANSITIONS };

/* Scores of the special states. */
enum { N_MOVE, N_LOOP, E_MOVE, E_LOOP, C_MOVE, C_LOOP, J_MOVE, J_LOOP, N_SPECIALS };

typedef struct { int n, b, j, c; } plan7_specials_t;

/* The special states before the first residue. */
plan7_specials_t plan7_specials_at_start(__constant const int *special)
{
    plan7_specials_t s;
    s.n = 0;
    s.b = CLAMP(special[N_MOVE]);
    s.j = IMPOSSIBLE;
    s.c = IMPOSSIBLE;
    return s;
}

/* The special states after a residue whose best way out of the model scores e. */
plan7_specials_t plan7_specials_after(plan7_specials_t s, int e, __constant const int *special)
{
    e = CLAMP(e);
    s.n = CLAMP(s.n + special[N_LOOP]);
    s.j = CLAMP(MAX(s.j + special[J_LOOP], e + special[E_LOOP]));
    s.b = CLAMP(MAX(s.n + special[N_MOVE], s.j + special[J_MOVE]));
    s.c = CLAMP(MAX(s.c + special[C_LOOP], e + special[E_MOVE]));
    return s;
}
