/* One row of HMMER3's Forward with the model striped over explicit vectors, for CPUs.

   Node lane * vectors + q sits in lane `lane` of vector q. Kept from row to row, for node k
     x   what goes into M of node k + 1 but B's part, and without the deletes that entered the lane
     w   what I of node k is made of: I divided by what the step from M to I multiplies by
     entering   D at the start of each lane; what it adds to x of any node of the lane is a multiple of it
   M is kept multiplied by how much an M adds to E together with all the deletes that leave from it, so
   E is the sum over M.

   Tables
     steps      float[vectors][8][LANES]   begin, match to match, insert to match, insert to insert, delete
                                           to match, match to delete, delete to delete, entering to x
     crossings  float[3][LANES]            what deletes are multiplied by that cross 1, 2, 4 lanes up to this one
     emissions  float[N_CODES][vectors][LANES]

   Macros
     VECTORS    vectors that there is room for
     SEQUENCES  sequences worked on at once, which share each load of a step

   Only operators are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#define LANES 8
#define COLUMNS 8

#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef SEQUENCES
#define SEQUENCES 2
#endif

typedef float floats __attribute__((ext_vector_type(LANES)));

#define UP_1(v) __builtin_shufflevector(v, (floats)(0), 8, 0, 1, 2, 3, 4, 5, 6)
#define UP_2(v) __builtin_shufflevector(v, (floats)(0), 8, 8, 0, 1, 2, 3, 4, 5)
#define UP_4(v) __builtin_shufflevector(v, (floats)(0), 8, 8, 8, 8, 0, 1, 2, 3)

typedef struct {
    floats x[VECTORS], w[VECTORS];
    floats entering;
    float begin; /* B */
} row_t;

float total(floats v)
{
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    return v[0] + v[1];
}

/* What enters each lane from all the lanes before it, given what leaves each lane. */
floats cross_lanes(floats v, __global const floats *crossings)
{
    v += UP_1(v) * crossings[0];
    v += UP_2(v) * crossings[1];
    v += UP_4(v) * crossings[2];
    return UP_1(v);
}

/* One residue of each sequence; `e` gets E. */
__attribute__((always_inline))
void next_rows(row_t *rows, int vectors, __global const floats *t, __global const floats *crossings,
               __global const floats **emissions, float *e)
{
    floats left[SEQUENCES], d[SEQUENCES], sum[SEQUENCES], begin[SEQUENCES], entering[SEQUENCES];
    const floats last = t[(vectors - 1) * COLUMNS + 7];
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        entering[s] = rows[s].entering;
        const floats x = rows[s].x[vectors - 1] + entering[s] * last;
        left[s] = UP_1(x);
        begin[s] = (floats)(rows[s].begin);
        d[s] = sum[s] = (floats)(0);
    }
    for (int q = 0; q < vectors; q++, t += COLUMNS) {
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            row_t *row = rows + s;
            const floats m = (begin[s] * t[0] + left[s]) * emissions[s][q], i = row->w[q];
            left[s] = entering[s] * t[7] + row->x[q];
            sum[s] += m;
            row->x[q] = m * t[1] + (i * t[2] + d[s] * t[4]);
            row->w[q] = i * t[3] + m;
            d[s] = d[s] * t[6] + m * t[5];
        }
    }
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        rows[s].entering = cross_lanes(d[s], crossings);
        e[s] = total(sum[s]);
    }
}
