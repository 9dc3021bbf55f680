/* SPDX-License-Identifier: Apache-2.0
 * The table of commands as text for a terminal. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/options.h"

enum { NAME_WIDTH = 11, OPTION_WIDTH = 24, TEXT_BYTES = 900 };

static void print_overview(void)
{
    printf("gradgate: does this GPU kernel compute the right gradients, the same bits every\n"
           "time, and does its precision trick earn its keep?\n\n"
           "gradgate run --suite SUITE --kernel KERNEL [--device cuda]   is how it begins.\n\n"
           "commands\n");
    for (int i = 0; gg_commands[i] != NULL; i++)
        printf("  %-*s %s\n", NAME_WIDTH, gg_commands[i]->name, gg_commands[i]->summary);
    printf("\ntopics\n");
    for (int i = 0; gg_topics[i].name != NULL; i++)
        if (gg_command_find(gg_topics[i].name) == NULL) /* else it stands with the command */
            printf("  %-*s %s\n", NAME_WIDTH, gg_topics[i].name, gg_topics[i].summary);
    printf("\n'gradgate help TOPIC' explains a command or a topic, 'gradgate --version' says\n"
           "which build this is.\n"
           "Exit codes: 0 passed, 1 failed, 2 not verified (nothing or not enough was\n"
           "measured), 3 usage or bad input.\n");
}

/* "--markdown[=FILE]", "--out FILE", "--resume" */
static void print_option(const gg_option *o)
{
    char head[64];
    const char *value = o->value != NULL ? o->value : "";
    bool may = value[0] == '[';
    snprintf(head, sizeof head, "--%s%s%s", o->name, may ? "[=" : *value ? " " : "",
             may ? value + 1 : value);
    printf("  %-*s %s\n", OPTION_WIDTH, head, o->help);
}

static void print_command(const gg_command *c)
{
    bool options = c->options != NULL && c->options[0].name != NULL;
    printf("usage: gradgate %s%s%s%s\n\n%s\n", c->name, *c->usage ? " " : "", c->usage,
           options ? " [OPTION...]" : "", c->summary);
    if (options) printf("\n");
    for (int i = 0; options && c->options[i].name != NULL; i++) print_option(&c->options[i]);
    if (c->details != NULL) printf("\n%s", c->details);
}

static gg_status refuse(const char *name)
{
    char known[TEXT_BYTES] = "";
    size_t used = 0;
    for (int i = 0; gg_commands[i] != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, " %s",
                                 gg_commands[i]->name);
    for (int i = 0; gg_topics[i].name != NULL && used < sizeof known; i++)
        if (gg_command_find(gg_topics[i].name) == NULL)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s",
                                     gg_topics[i].name);
    return gg_fail(GG_BAD_INPUT, "no help on '%.60s': choose one of%s", name, known);
}

gg_status gg_help(const char *topic)
{
    if (topic == NULL) {
        print_overview();
        return GG_OK;
    }
    const gg_command *command = gg_command_find(topic);
    const gg_topic *page = gg_topics;
    while (page->name != NULL && strcmp(page->name, topic) != 0) page++;
    if (command == NULL && page->name == NULL) return refuse(topic);
    if (command != NULL) print_command(command);
    if (command != NULL && page->name != NULL) printf("\n");
    if (page->name != NULL) printf("%s: %s\n\n%s", topic, page->summary, page->text);
    return GG_OK;
}
