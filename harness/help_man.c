/* SPDX-License-Identifier: Apache-2.0
 * The table of commands and the topics as a man page: roff with the man macros. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "build_identity.h"
#include "harness/options.h"

/* One line of text. A leading point or quote would be a request, a hyphen would become
 * a dash and a backslash an escape. */
static void put(const char *text, size_t length)
{
    if (length > 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') fputs("\\e", stdout);
        else if (text[i] == '-') fputs("\\-", stdout);
        else if (text[i] == '\'') fputs("\\(aq", stdout);
        else putchar(text[i]);
    }
}

static void put_text(const char *text) { put(text, strlen(text)); }

/* Paragraphs in the form of gg_topic.text: a line with a leading space is shown as is. */
static void put_paragraphs(const char *text)
{
    bool fixed = false;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (fixed != (*text == ' ')) {
            if (length > 0 || fixed) fputs(fixed ? ".EE\n" : ".PP\n.EX\n", stdout);
            fixed = !fixed && length > 0;
        }
        if (length == 0) puts(".PP");
        else {
            put(text, length);
            putchar('\n');
        }
        text += length + (text[length] == '\n');
    }
    if (fixed) puts(".EE");
}

static void put_option(const gg_option *o)
{
    bool may = o->value != NULL && o->value[0] == '[';
    printf(".TP\n.B \\-\\-");
    put_text(o->name);
    if (may) fputs("\\fR[=\\fI", stdout);
    else if (o->value != NULL) fputs(" \\fI", stdout);
    if (o->value != NULL) put(o->value + may, strlen(o->value) - 2 * may);
    fputs(may ? "\\fR]\n" : "\n", stdout);
    put_text(o->help);
    putchar('\n');
}

static void put_command(const gg_command *c)
{
    printf(".SS \"gradgate ");
    put_text(c->name);
    if (*c->usage) putchar(' ');
    put_text(c->usage);
    puts("\"");
    putchar(toupper((unsigned char)c->summary[0]));
    put_text(c->summary + 1);
    puts(".");
    if (c->details != NULL) {
        puts(".PP");
        put_paragraphs(c->details);
    }
    for (int i = 0; c->options != NULL && c->options[i].name != NULL; i++)
        put_option(&c->options[i]);
}

static void put_topic(const gg_topic *topic)
{
    printf(".SH ");
    for (const char *c = topic->name; *c; c++)
        putchar(*c == '-' ? ' ' : toupper((unsigned char)*c));
    putchar('\n');
    put_paragraphs(topic->text);
}

void gg_help_man(void)
{
    printf(".\\\" Written by 'gradgate help --man'.\n"
           ".TH GRADGATE 1 \"\" \"gradgate %s\" \"User Commands\"\n"
           ".SH NAME\n"
           "gradgate \\- judges the gradients of a GPU kernel, their bits and their precision\n"
           ".SH SYNOPSIS\n", GG_VERSION);
    for (int i = 0; gg_commands[i] != NULL; i++) {
        printf(".B gradgate %s\n", gg_commands[i]->name);
        put_text(gg_commands[i]->usage);
        puts(gg_commands[i]->options != NULL ? " [OPTION...]\n.br" : "\n.br");
    }
    puts(".SH COMMANDS");
    for (int i = 0; gg_commands[i] != NULL; i++) put_command(gg_commands[i]);
    for (int i = 0; gg_topics[i].name != NULL; i++) put_topic(&gg_topics[i]);
}
