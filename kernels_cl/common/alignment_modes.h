/* Which alignments of two sequences count: MODE is one of these. */

#define LOCAL 0
#define GLOBAL 1
#define SEMIGLOBAL 2
#define UNGAPPED 3

#ifndef MODE
#define MODE LOCAL
#endif

/* Whether alignments begin and end anywhere. */
#define IS_LOCAL (MODE == LOCAL || MODE == UNGAPPED)
