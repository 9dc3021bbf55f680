/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/options.h"

#include <getopt.h>
#include <stdbool.h>
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

/* What names the thing on trial: of two suites the first would be left out, and nobody would
 * see it. Of two devices or numbers the last counts, for scripts that add to a command line. */
static bool names_what_is_judged(const gg_option *o)
{
    static const char *const names[] = {"SUITE", "KERNEL", "GLOB", "REPORT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (o->value != NULL && strncmp(o->value, names[i], strlen(names[i])) == 0)
            return strstr(o->help, "; repeatable") == NULL;
    return false;
}

/* Whether the option of this key names that and was given before. `first`: of a command line. */
static bool is_doubled(const gg_option *options, int key, bool first)
{
    static bool seen[MOST_OPTIONS];
    if (first) memset(seen, 0, sizeof seen);
    for (int i = 0; i + 1 < MOST_OPTIONS && options[i].name != NULL; i++) {
        if (options[i].key != key || !names_what_is_judged(&options[i])) continue;
        bool before = seen[i];
        seen[i] = true;
        return before;
    }
    return false;
}

int gg_next_option(int argc, char **argv, const gg_option *options)
{
    struct option long_options[MOST_OPTIONS];
    int index = 0;
    bool first = optind <= 1;
    to_getopt(options, long_options);
    opterr = 0;
    int c = getopt_long(argc, argv, ":", long_options, &index);
    const char *word = argv[optind > 1 ? optind - 1 : 1]; /* the one just looked at */
    if (c > 0 && c != ':' && c != '?' && is_doubled(options, c, first)) {
        gg_fail(GG_BAD_INPUT, "--%s is given twice: give it once", long_options[index].name);
        return '?';
    }
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
