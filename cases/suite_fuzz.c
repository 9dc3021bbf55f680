/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a suite file's text (scripts/fuzz.sh). Whatever it holds is cases that keep
 * the promises of suite.h, or one line of why not.
 * plant: cases/suite_parse.c s/bytes - i > 4 \&\& // */
#include <stdlib.h>
#include <string.h>

#include "cases/suite_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const gg_suite *suite)
{
    if (suite->count < 1 || suite->count > GG_SUITE_MAX_CASES) __builtin_trap();
    for (int i = 0; i < suite->count; i++) {
        const gg_case *c = &suite->cases[i];
        if (c->id[0] == '\0' || memchr(c->id, 0, sizeof c->id) == NULL) __builtin_trap();
        if (c->family == NULL || !gg_case_matches(c, c->id)) __builtin_trap();
        for (int s = 0; suite->op->symbols[s] != '\0'; s++)
            if (c->extent[s] < 1 || c->extent[s] > GG_MAX_EXTENT) __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_suite suite;
    char *text = malloc(size + 1); /* its own piece, so that a read past the end is seen */
    if (text == NULL) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (gg_suite_parse("fuzz", text, size, &suite) == GG_OK) check(&suite);
    else if (suite.cases != NULL || gg_message()[0] == '\0') __builtin_trap();
    gg_suite_free(&suite);
    free(text);
    return 0;
}
