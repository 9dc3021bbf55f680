/* SPDX-License-Identifier: Apache-2.0
 * gradgate: the command line. The only place that ends the process. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build_identity.h"
#include "harness/commands.h"

static const char manual[] =
    "gradgate: does this GPU kernel compute the right gradients, the same bits every time,\n"
    "and does its precision trick earn its keep?\n"
    "\n"
    "gradgate run --suite S --kernel K [--device host|cuda[:I]]   measure, report, verdict\n"
    "    --repeats N    runs on the same input (default 5)\n"
    "    --case GLOB    only the cases whose id matches\n"
    "    --out FILE     the report (default gradgate-report.json)\n"
    "    --resume       go on where a killed run with the same --out stopped\n"
    "    --shard I/N    only the I-th of N equal parts\n"
    "    --ablate F     feature for the paired ablation (default: the kernel's first; none)\n"
    "    --certify N    cases whose truth is certified by MPFR (default 60, spread evenly)\n"
    "    --golden FILE  compare the output bits with those of a card\n"
    "    --threads N    host threads (default: all)\n"
    "gradgate case ID --suite S --kernel K [--device D]          one case and its checks\n"
    "    --why          the element that explains the verdict: error, MPFR, largest terms\n"
    "    --output NAME  explain this output; --element I,J,... this element of it\n"
    "    --out FILE     a report too; --repeats, --golden, --threads as in run\n"
    "gradgate report REPORT                    print stored evidence; exits with its verdict\n"
    "    --markdown[=F] as Markdown; --junit F, --html F: for a CI server, for a browser\n"
    "    --judge        judge again, under the limits that this build has\n"
    "gradgate gate REPORT --baseline OLD       judge against a baseline and the own limits\n"
    "    --bits exact   a changed bit fails; --commit C: the report must be of commit C\n"
    "    --json F, --markdown F   the outcome for programs, for people\n"
    "gradgate compare A B [--markdown]         two reports side by side, pair by pair\n"
    "gradgate merge OUT IN...                  shards of one run become one report\n"
    "gradgate golden REPORT --out FILE         keep the output digests of a run\n"
    "gradgate selftest [--device D] [--json F]   planted faults that must all be caught\n"
    "    --list         the kinds of fault, their checks and mutants, as a table\n"
    "    --control survivor|alarm   proof that the self-test can fail\n"
    "gradgate bench --suite S --kernel K[,K2]|all [--device D]   speed, verified\n"
    "    --reps N       timed runs a direction (default 15); --case, --threads as in run\n"
    "    --peers FILE   lines of a script in scripts/peers/: other people's kernels\n"
    "    --out FILE     as JSON; --markdown FILE as Markdown\n"
    "gradgate list operators|kernels|suites|families|checks|limits\n"
    "gradgate doctor                           what this machine can do\n"
    "gradgate help | --version\n"
    "\n"
    "Exit codes: 0 passed, 1 failed, 2 not verified (nothing or not enough was measured),\n"
    "3 usage or bad input.\n";

/* Whoever read our output has seen enough (`| head`): no fault, and nothing to add. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int, char **);
    } commands[] = {{"run", gg_command_run},       {"bench", gg_command_bench},
                    {"case", gg_command_case},
                    {"report", gg_command_report}, {"gate", gg_command_gate},
                    {"compare", gg_command_compare}, {"merge", gg_command_merge},
                    {"golden", gg_command_golden}, {"selftest", gg_command_selftest},
                    {"list", gg_command_list},
                    {"doctor", gg_command_doctor}};
    const char *name = argc > 1 ? argv[1] : "";
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of the write, like a full disk */
    signal(SIGPIPE, SIG_IGN); /* so is a reader that left */
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0) {
            int code = commands[i].run(argc - 1, argv + 1);
            if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_left()) return code;
            gg_fail(GG_IO, "cannot write to standard output");
            return gg_complain(GG_IO);
        }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
        fputs(manual, stdout);
        return GG_EXIT_PASSED;
    }
    if (strcmp(name, "--version") == 0) {
        printf("gradgate %s (%s)\n%s\n", GG_VERSION, GG_COMMIT, GG_COMPILER);
        return GG_EXIT_PASSED;
    }
    gg_fail(GG_BAD_INPUT, "%s%s%s: see 'gradgate help'",
            *name ? "unknown command '" : "name a command", name, *name ? "'" : "");
    return gg_complain(GG_BAD_INPUT);
}
