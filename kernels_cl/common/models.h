/* Models that are searched with in one launch. Work-items go through them one after the other, and what each has to do
   they share by a counter of its own, so that none waits for a launch of the next model.

   Of every model there is a list of sequences, and a result for each place in it: `stride` places a model, its number
   in the group telling where they begin. */

typedef struct {
    uint number;      /* in the group */
    int vectors;      /* in a row, where the kernel is told */
    uint tables[3];   /* where its tables begin: bytes from the begin of all tables */
    uint numbers[3];  /* what else the kernel wants to know */
} model_t;

/* A table of a model; `type` is what it is made of. */
#define TABLE_OF(type, all, model, k) ((__global const type *)((__global const uchar *)(all) + (model).tables[k]))
