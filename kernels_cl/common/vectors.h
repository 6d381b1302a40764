/* What kernels for vectors share.

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#define CALL static inline __attribute__((always_inline))

/* Of numbers or vectors; an argument is evaluated twice. */
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
