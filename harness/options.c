/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

enum { MOST_OPTIONS = 48 };

/* The table in the form of getopt_long. */
static void to_getopt(const gg_option *options, struct option long_options[MOST_OPTIONS])
{
    int count = 0;
    for (; options != NULL && options[count].name != NULL && count + 1 < MOST_OPTIONS; count++) {
        const gg_option *o = &options[count];
        long_options[count] = (struct option){
            o->name, o->value == NULL ? no_argument
                     : o->value[0] == '[' ? optional_argument : required_argument,
            NULL, o->key};
    }
    long_options[count] = (struct option){NULL, 0, NULL, 0};
}

int gg_next_option(int argc, char **argv, const gg_option *options)
{
    struct option long_options[MOST_OPTIONS];
    to_getopt(options, long_options);
    opterr = 0;
    int c = getopt_long(argc, argv, ":", long_options, NULL);
    const char *word = argv[optind > 1 ? optind - 1 : 1]; /* the one just looked at */
    if (c == ':')
        gg_fail(GG_BAD_INPUT, "%s needs a value: see 'gradgate help %s'", word, argv[0]);
    else if (c == '?')
        gg_fail(GG_BAD_INPUT, "'gradgate %s' has no option %s: see 'gradgate help %s'",
                argv[0], word, argv[0]);
    return c == ':' ? '?' : c;
}

const gg_command *gg_command_find(const char *name)
{
    for (int i = 0; gg_commands[i] != NULL; i++)
        if (strcmp(gg_commands[i]->name, name) == 0) return gg_commands[i];
    return NULL;
}
