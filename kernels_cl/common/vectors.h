/* What kernels for vectors share.

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#define CALL static inline __attribute__((always_inline))

/* A compiler that does not know the question has none of what it is asked for. */
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

/* Of numbers or vectors; an argument is evaluated twice. */
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
