/* Shuffles of 32 bytes in halves of 16, where the processor has them: they look letters up in a table of scores. */

#include "common/vectors.h"

#if defined(__AVX2__) && __has_builtin(__builtin_ia32_pshufb256)
#define HAS_BYTE_SHUFFLES 1
#else
#define HAS_BYTE_SHUFFLES 0
#endif

typedef char chunk_t __attribute__((vector_size(32)));
typedef char bytes_t __attribute__((ext_vector_type(32)));
typedef char half_t __attribute__((ext_vector_type(16)));

#define TWICE(v) \
    __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, \
                            9, 10, 11, 12, 13, 14, 15)
