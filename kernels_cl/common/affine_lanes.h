/* Vectors of scores, one of each of many sequences, and their steps with affine gap costs.

   E and F are kept with the cost of the first residue of a gap added, so that both are just what H was, less the
   costs of the residues after the first; what opens and what goes on is then one maximum each.

     H = max(diagonal H + score, max(E, F) - first), and 0 if alignments begin anywhere
     E = max(E - next, H) of the column before, F likewise of the row before

   Where alignments begin anywhere, no H is below 0, and only one step has to see to that: the unsigned
   difference that ends at 0. All others are plain. A sum may be wrong only if H was above HIGHEST less the
   highest score of two letters, so whoever finds such an H computes the sequence again with more bits.

   Macros
     WIDTH, LANES  see saturated.h, which must be there
     MODE          0 local, 1 global, 2 semiglobal, 3 ungapped */

#define LOCAL 0
#define GLOBAL 1
#define SEMIGLOBAL 2
#define UNGAPPED 3

#ifndef MODE
#define MODE LOCAL
#endif

#define IS_FLOORED (MODE == LOCAL || MODE == UNGAPPED)

#if WIDTH == 8
typedef uchar unsigned_score_t;
#elif WIDTH == 16
typedef ushort unsigned_score_t;
#else
typedef uint unsigned_score_t;
#endif

typedef unsigned_score_t unsigned_scores_t __attribute__((ext_vector_type(LANES)));

/* Less the cost of opening a gap, and not below 0 if alignments begin anywhere. Compilers know this way of writing a
   difference that ends at 0 and make one instruction of it. */
__attribute__((always_inline))
scores_t less_first(const scores_t score, const scores_t first)
{
#if IS_FLOORED
    const unsigned_scores_t a = __builtin_astype(score, unsigned_scores_t);
    const unsigned_scores_t b = __builtin_astype(first, unsigned_scores_t);
    return __builtin_astype(LARGER(a, b) - b, scores_t);
#else
    return score - first;
#endif
}
