/* SPDX-License-Identifier: Apache-2.0
 * How an operator declares itself: one table, which the harness reads and never names. */
#ifndef CASES_OPERATOR_H
#define CASES_OPERATOR_H

#include "cases/draw.h"
#include "reference/truth.h"

typedef enum gg_role {
    GG_ROLE_INPUT,     /* forward input */
    GG_ROLE_UPSTREAM,  /* upstream gradient: backward only */
    GG_ROLE_OPTIONAL,  /* present when the case says so */
    GG_ROLE_RESULT,    /* forward output */
    GG_ROLE_GRADIENT   /* backward output */
} gg_role;

typedef struct gg_tensor_decl {
    const char *name;
    const char *shape; /* symbols, outermost first: "BRHND" */
    gg_role role;
    unsigned dtypes;   /* bit set of 1u << gg_dtype: what the operator allows */
    gg_dtype dtype;    /* what a suite gets when it does not say */
} gg_tensor_decl;

/* The largest value of an extent, and of the product of one tensor's extents: far above
 * any card, far below overflow of 64-bit byte offsets. */
#define GG_MAX_EXTENT (INT64_C(1) << 24)
#define GG_MAX_ELEMENTS (INT64_C(1) << 40)

/* The same problem written in another way: every output must keep its bits. */
typedef struct gg_relation {
    const char *name; /* of the check */
    const char *summary;
    /* From which inputs are present (data is not NULL, and not read). */
    bool (*applies)(const gg_problem *problem);
    /* Rewrites inputs in host memory, each malloc'd; may free one (data = NULL) or make
     * one that was absent. */
    gg_status (*rewrite)(gg_problem *problem);
} gg_relation;

/* A sum over an output that the inputs alone decide: it needs no truth. */
typedef struct gg_balance {
    const char *name; /* of the check */
    const char *summary;
    const char *output;
    char symbol;      /* that is summed over */
    /* What the sums must be, in the order of the output's other indices. The problem is in
     * host memory. */
    gg_status (*sums)(const gg_problem *problem, double *sums);
} gg_balance;

/* The least work that a problem asks for: what a kernel does beyond it (recomputing,
 * padding) is its own affair. [0] forward, [1] backward. */
typedef struct gg_cost {
    double flops[2];        /* of matrix products; a multiply-add counts as two */
    double exponentials[2];
} gg_cost;

/* A place where a kernel may round, in the order of the bits of gg_roundings. */
typedef struct gg_rounding_point {
    const char *name;
    const char *summary;
    bool rough; /* its errors are right in size only, within a factor of 2 */
} gg_rounding_point;

/* What somebody has published about kernels of the operator, and what would show it. */
typedef enum gg_claim_kind {
    GG_CLAIM_ELSEWHERE, /* no report of a run can show it; `what` says why */
    GG_CLAIM_LOWEST,    /* no other kernel has a lower mean RMSE */
    GG_CLAIM_SAVED,     /* the feature `what` lowers RMSE by `low` to `high` (shares) */
    GG_CLAIM_BITS,      /* a GPU gives equal bits in each of `runs` runs of `cases` cases */
    GG_CLAIM_FLOOR,     /* RMSE is at most `high` times the rounding floor */
    GG_CLAIM_CHECK      /* the check `what` passes wherever it is made */
} gg_claim_kind;

typedef struct gg_claim {
    const char *text;    /* one line without a full stop */
    const char *source;  /* whose it is, and where it was measured */
    gg_claim_kind kind;
    const char *kernel;  /* that it is about; NULL: any */
    const char *outputs; /* "dq dk dbias"; NULL: all */
    const char *what;
    double low, high;
    int cases, runs;
    int64_t least;       /* extent of gg_operator.size from which on it was made; 0: any */
} gg_claim;

typedef struct gg_operator {
    const char *name;
    const char *summary;
    const char *symbols;            /* of gg_problem.extent, in order: "BRHND" */
    const gg_tensor_decl *inputs;   /* ended by name == NULL */
    const gg_tensor_decl *outputs;  /* forward results first, then gradients */
    gg_reference reference;
    const gg_family *families;      /* ended by name == NULL (cases/draw.h) */
    /* Symbols whose indices are problems of their own: where an output has the symbol,
     * its bits at an index depend on the inputs at that index alone; an output without the
     * symbol is a sum over its indices. */
    const char *independent;
    const gg_relation *relations;   /* ended by name == NULL; NULL: none */
    const gg_balance *balances;     /* ended by name == NULL; NULL: none */
    /* Suites of `gradgate determinism`, on the host and on a GPU. */
    const char *determinism[2];
    /* For `gradgate bench`; each may be left out. */
    gg_cost (*cost)(const gg_problem *problem); /* int32 inputs that are present are in host
                                                   memory; no other data are read */
    char size;                      /* symbol along which growth of the time is fitted */
    const char *graded;             /* output whose RMSE / floor is the precision class */
    /* For `gradgate budget`, with reference.rounded; ended by name == NULL. */
    const gg_rounding_point *roundings;
    const gg_claim *claims; /* ended by text == NULL; NULL: none (reports/claims.h) */
} gg_operator;

/* All operators, ended by NULL, and one by name (NULL when unknown). */
extern const gg_operator *const gg_operators[];
const gg_operator *gg_operator_find(const char *name);
const gg_family *gg_family_find(const gg_operator *op, const char *name);

/* Index of a tensor by name, -1 when unknown; number of declared tensors. */
int gg_tensor_find(const gg_tensor_decl *decls, const char *name);
int gg_tensor_decls(const gg_tensor_decl *decls);

/* Shape of a declared tensor for given extents (data NULL, dtype as given). */
gg_tensor gg_tensor_make(const gg_operator *op, const gg_tensor_decl *decl,
                         const int64_t *extent, gg_dtype dtype);

#endif
