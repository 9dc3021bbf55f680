/* SPDX-License-Identifier: Apache-2.0
 * A suite: a small JSON file that names the cases to run. Built-in ones are in
 * cases/suites/; a user's own file works the same way (cases/README.md has the format). */
#ifndef CASES_SUITE_H
#define CASES_SUITE_H

#include "cases/operator.h"

typedef struct gg_case {
    char id[96];             /* "normal-N384-D16-s007", unique in its suite */
    const gg_family *family;
    uint64_t seed;
    int64_t extent[GG_MAX_SYMBOLS];
    gg_dtype input_dtype[GG_MAX_INPUTS];
    gg_dtype output_dtype[GG_MAX_OUTPUTS];
    /* Inputs that are given, not drawn (harness/given.h); all zero in a suite file. */
    char *source;      /* the file that holds them, owned by the suite; NULL: drawn */
    unsigned present;  /* bit set of the inputs in it */
    int repeats;       /* runs that there are outputs of; 0: as many as are asked for */
} gg_case;

typedef struct gg_suite {
    char name[64];
    char summary[256];
    const gg_operator *op;
    bool relations;  /* also run what the operator says about pairs of problems */
    gg_case *cases;
    int count;
    uint64_t digest; /* XXH3-64 of the file's bytes: which suite this was */
} gg_suite;

/* Loads a suite by name (searched in the suite folders) or by path. Every fault of the
 * file is GG_BAD_INPUT with file, place and remedy in the message. */
gg_status gg_suite_load(const char *name_or_path, gg_suite *suite);
void gg_suite_free(gg_suite *suite);

/* Names of the built-in suites, sorted, ended by NULL; free with gg_suite_names_free.
 * NULL: no memory, with a message. */
char **gg_suite_names(void);
void gg_suite_names_free(char **names);

/* Shell-style match (* ? [..]) of a case id. */
bool gg_case_matches(const gg_case *c, const char *glob);

#endif
