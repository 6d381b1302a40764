/* Models that are searched with in one launch, so that none waits for a launch of the next one. Either work-items go
   through all of them and share what each has to do by a counter of its own, as on processors, or each model has
   work-groups of its own, as many as every other one, as with lanes.

   Of every model there is a list of sequences, and a result for each place in it: `stride` places a model, its number
   in the group telling where they begin. */

typedef struct {
    uint number;      /* in the group */
    int parts;        /* vectors in a row, or strips, where the kernel gets it */
    uint offset;      /* where its room in a buffer that all share begins */
    uint tables[3];   /* where its tables begin: bytes from the begin of all tables */
    uint numbers[5];  /* what else the kernel wants to know */
} model_t;

/* A table of a model; `type` is what it is made of. */
#define TABLE_OF(type, all, model, k) ((__global const type *)((__global const uchar *)(all) + (model).tables[k]))

/* The model that a work-group works on where each has groups of its own, its number among these, and how many there
   are. */
#define GROUPS_OF_MODEL(n_models) ((uint)get_num_groups(0) / (n_models))
#define MODEL_OF_GROUP(n_models) ((uint)get_group_id(0) / GROUPS_OF_MODEL(n_models))
#define GROUP_OF_MODEL(n_models) ((uint)get_group_id(0) % GROUPS_OF_MODEL(n_models))

/* Stride over n of something of this model. */
#define EACH_OF_MODEL(p, n, n_models)                                                          \
    for (uint p = GROUP_OF_MODEL(n_models) * (uint)get_local_size(0) + (uint)get_local_id(0); p < (n); \
         p += GROUPS_OF_MODEL(n_models) * (uint)get_local_size(0))
