/* SPDX-License-Identifier: Apache-2.0
 * The table of commands as completion scripts. Names of suites, kernels and so on are
 * asked of the program itself, so they are those of this machine. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/options.h"

/* What the program prints for `gradgate list ...` and which word of a line is the name:
 * lines that begin with a space belong to the line above. */
typedef struct gg_listed {
    const char *value, *list;
    int word;
    bool files; /* a path will do too */
} gg_listed;

static const gg_listed listed[] = {{"SUITE", "suites", 1, true},
                                   {"KERNEL", "kernels", 2, true},
                                   {"FAMILY", "families", 2, false},
                                   {"OPERATOR", "operators", 1, false},
                                   {NULL, NULL, 0, false}};

/* The value's name without brackets, up to the next character that is no letter. */
static size_t value_name(const char *value, const char **name)
{
    *name = value + (*value == '[');
    size_t length = 0;
    while (isalpha((unsigned char)(*name)[length])) length++;
    return length;
}

static const gg_listed *find_listed(const char *value)
{
    const char *name;
    size_t length = value_name(value, &name);
    for (const gg_listed *l = listed; l->value != NULL; l++)
        if (strlen(l->value) == length && strncmp(l->value, name, length) == 0) return l;
    return NULL;
}

static bool is_path(const char *value)
{
    const char *name;
    size_t length = value_name(value, &name);
    return (length == 4 && strncmp(name, "FILE", 4) == 0) ||
           (length == 3 && strncmp(name, "DIR", 3) == 0) ||
           (length == 6 && strncmp(name, "REPORT", 6) == 0);
}

/* The words that a value may be, parted by spaces: "bash|zsh|fish" gives them, DEVICE the
 * devices, everything else "". */
static void fixed_words(const char *value, char *words, size_t size)
{
    size_t used = 0;
    words[0] = '\0';
    if (strcmp(value, "DEVICE") == 0) value = "host|cuda|cuda:0|cuda:all";
    if (!islower((unsigned char)value[0])) return;
    for (; *value && used + 1 < size; value++) words[used++] = *value == '|' ? ' ' : *value;
    words[used] = '\0';
}

static void put_lister(const char *program, const gg_listed *l)
{
    printf("%s list %s 2>/dev/null | awk '/^[^ ]/ { print $%d }'", program, l->list, l->word);
}

/* ---- bash ---- */

static void bash_value(const char *value)
{
    char words[120];
    const gg_listed *l = find_listed(value);
    fixed_words(value, words, sizeof words);
    if (l != NULL) {
        printf("words=$(");
        put_lister("\"${COMP_WORDS[0]}\"", l);
        printf(")%s", l->files ? " files=1" : "");
    } else if (is_path(value)) printf("files=1");
    else printf("words='%s'", words);
}

static void bash(void)
{
    printf("# bash completion of gradgate; written by 'gradgate help --completion bash'\n"
           "_gradgate() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local words='' files='' options=''\n"
           "    [ \"$cur\" = = ] && cur=''\n"
           "    [ \"$prev\" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words='");
    for (int i = 0; gg_commands[i] != NULL; i++) printf("%s ", gg_commands[i]->name);
    printf("--help --version'\n"
           "    else case ${COMP_WORDS[1]}:$prev in\n");
    for (int i = 0; gg_commands[i] != NULL; i++)
        for (const gg_option *o = gg_commands[i]->options; o != NULL && o->name != NULL; o++) {
            if (o->value == NULL) continue;
            printf("    %s:--%s) ", gg_commands[i]->name, o->name);
            bash_value(o->value);
            printf(" ;;\n");
        }
    printf("    *) case ${COMP_WORDS[1]} in\n");
    for (int i = 0; gg_commands[i] != NULL; i++) {
        const gg_command *c = gg_commands[i];
        printf("        %s) ", c->name);
        if (strcmp(c->name, "help") == 0) {
            printf("words='");
            for (int k = 0; gg_commands[k] != NULL; k++) printf("%s ", gg_commands[k]->name);
            for (int k = 0; gg_topics[k].name != NULL; k++) printf("%s ", gg_topics[k].name);
            printf("'");
        } else bash_value(c->usage);
        printf("; options='");
        for (const gg_option *o = c->options; o != NULL && o->name != NULL; o++)
            printf("--%s ", o->name);
        printf("--help' ;;\n");
    }
    printf("        esac ;;\n"
           "    esac; fi\n"
           "    [[ $cur == -* ]] && words=$options files=''\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\" | awk '!seen[$0]++'))\n"
           "    [ -n \"$files\" ] && COMPREPLY+=($(compgen -f -- \"$cur\")) &&\n"
           "        compopt -o filenames 2>/dev/null\n"
           "    return 0\n"
           "}\n"
           "complete -F _gradgate gradgate\n");
}

/* ---- zsh ---- */

/* Text within a single-quoted specification of _arguments. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text) != NULL) printf("\\%c", *text);
        else putchar(*text);
    }
}

/* The space before a function keeps _arguments from giving it options of its own. */
static void zsh_value(const char *value)
{
    char words[120];
    const gg_listed *l = find_listed(value);
    fixed_words(value, words, sizeof words);
    if (l != NULL) printf(" _gradgate_listed %s %d", l->list, l->word);
    else if (is_path(value)) printf("_files");
    else if (words[0] != '\0') {
        putchar('(');
        zsh_text(words);
        putchar(')');
    }
    else putchar(' ');
}

static void zsh_command(const gg_command *c)
{
    printf("    %s) _arguments", c->name);
    for (const gg_option *o = c->options; o != NULL && o->name != NULL; o++) {
        bool may = o->value != NULL && o->value[0] == '[';
        printf(" \\\n        '--%s%s[", o->name, o->value == NULL ? "" : may ? "=-" : "=");
        zsh_text(o->help);
        printf("]");
        if (o->value != NULL) {
            printf("%s", may ? "::" : ":");
            zsh_text(o->name);
            printf(":");
            zsh_value(o->value);
        }
        printf("'");
    }
    printf(" \\\n        '--help[explains %s]' '*:argument:", c->name);
    if (strcmp(c->name, "help") == 0) {
        printf("(");
        for (int k = 0; gg_commands[k] != NULL; k++) printf("%s ", gg_commands[k]->name);
        for (int k = 0; gg_topics[k].name != NULL; k++) printf("%s ", gg_topics[k].name);
        printf(")");
    } else zsh_value(c->usage);
    printf("' ;;\n");
}

static void zsh(void)
{
    printf("#compdef gradgate\n"
           "# zsh completion of gradgate; written by 'gradgate help --completion zsh'\n"
           "_gradgate_listed() {\n"
           "    local -a names\n"
           "    names=(${(f)\"$(gradgate list $1 2>/dev/null |\n"
           "        awk -v w=$2 '/^[^ ]/ { print $w }')\"})\n"
           "    compadd -a names\n"
           "    case $1 in\n"
           "    suites) _files -g '*.json' ;;\n"
           "    kernels) _files -g '*.so' ;;\n"
           "    esac\n"
           "}\n"
           "if (( CURRENT == 2 )); then\n"
           "    local -a commands\n"
           "    commands=(\n");
    for (int i = 0; gg_commands[i] != NULL; i++) {
        printf("        '%s:", gg_commands[i]->name);
        zsh_text(gg_commands[i]->summary);
        printf("'\n");
    }
    printf("    )\n"
           "    _describe command commands\n"
           "    return\n"
           "fi\n"
           "local command=$words[2]\n"
           "shift words; (( CURRENT-- ))\n"
           "case $command in\n");
    for (int i = 0; gg_commands[i] != NULL; i++) zsh_command(gg_commands[i]);
    printf("esac\n");
}

/* ---- fish ---- */

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

/* -x: a value and no files; -r: a value, files welcome. */
static void fish_value(const char *value, bool option)
{
    char words[120];
    const gg_listed *l = find_listed(value);
    fixed_words(value, words, sizeof words);
    if (is_path(value)) printf(option ? " -r" : " -F");
    else printf(l != NULL && l->files ? option ? " -r" : " -F" : option ? " -x" : " -f");
    if (l != NULL) {
        printf(" -a \"(gradgate list %s 2>/dev/null | awk '/^[^ ]/ { print \\$%d }')\"", l->list,
               l->word);
    } else if (words[0] != '\0') printf(" -a '%s'", words);
}

static void fish_command(const gg_command *c)
{
    const char *when = "complete -c gradgate -n '__fish_seen_subcommand_from";
    printf("complete -c gradgate -n __fish_use_subcommand -f -a %s -d ", c->name);
    fish_text(c->summary);
    printf("\n%s %s'", when, c->name);
    if (strcmp(c->name, "help") != 0) fish_value(c->usage, false);
    else {
        printf(" -f -a '");
        for (int k = 0; gg_commands[k] != NULL; k++) printf("%s ", gg_commands[k]->name);
        for (int k = 0; gg_topics[k].name != NULL; k++) printf("%s ", gg_topics[k].name);
        printf("'");
    }
    putchar('\n');
    for (const gg_option *o = c->options; o != NULL && o->name != NULL; o++) {
        printf("%s %s' -l %s", when, c->name, o->name);
        if (o->value != NULL && o->value[0] != '[') fish_value(o->value, true);
        printf(" -d ");
        fish_text(o->help);
        putchar('\n');
    }
}

static void fish(void)
{
    printf("# fish completion of gradgate; written by 'gradgate help --completion fish'\n");
    for (int i = 0; gg_commands[i] != NULL; i++) fish_command(gg_commands[i]);
}

gg_status gg_help_completion(const char *shell)
{
    if (strcmp(shell, "bash") == 0) bash();
    else if (strcmp(shell, "zsh") == 0) zsh();
    else if (strcmp(shell, "fish") == 0) fish();
    else
        return gg_fail(GG_BAD_INPUT, "--completion takes bash, zsh or fish, not '%s'", shell);
    return GG_OK;
}
