/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/worker.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gg_worker worker;

static void start(const char *script)
{
    char shell[] = "/bin/sh", option[] = "-c", text[512];
    snprintf(text, sizeof text, "%s", script);
    char *argv[] = {shell, option, text, NULL};
    cr_assert_eq(gg_worker_start(argv, &worker), GG_OK, "%s", gg_message());
}

/* The next line, or NULL at the end; waits for either. */
static const char *line(void)
{
    char *text;
    size_t length;
    bool ended;
    while (!gg_worker_hear(&worker, &text, &length, &ended)) {
        if (ended) return NULL;
        struct pollfd fd = {.fd = worker.fd, .events = POLLIN};
        poll(&fd, 1, 100);
    }
    cr_assert_eq(strlen(text), length);
    return text;
}

static void ends(const char *script, bool in_kernel, bool by_itself, const char *text)
{
    start(script);
    while (line() != NULL) continue;
    gg_ending e = gg_worker_end(&worker);
    cr_expect_eq(e.in_kernel, in_kernel, "%s", script);
    cr_expect_eq(e.by_itself, by_itself, "%s", script);
    cr_expect_str_eq(e.text, text);
    cr_assert_eq(worker.pid, 0);
}

Test(worker, lines_go_both_ways)
{
    start("echo one >&3; read a <&3; echo \"got $a\" >&3");
    cr_assert_str_eq(line(), "one");
    cr_assert(gg_worker_tell(&worker, "17\n"));
    cr_assert_str_eq(line(), "got 17");
    cr_assert_null(line());
    cr_assert_str_eq(gg_worker_end(&worker).text, "ended with exit code 0");
}

Test(worker, says_how_it_ended_and_where)
{
    ends("exit 7", false, true, "ended with exit code 7");
    ends("kill -SEGV $$", false, true, "ended with SIGSEGV");
    ends("echo kernel forward >&3; kill -ABRT $$", true, true,
         "ended with SIGABRT in forward");
    ends("echo kernel forward >&3; exit 0", true, true, "ended with exit code 0 in forward");
    ends("echo kernel forward >&3; kill -KILL $$", true, false,
         "ended with SIGKILL in forward");
    ends("echo kernel forward >&3; echo harness >&3; kill -BUS $$", false, true,
         "ended with SIGBUS");
}

Test(worker, what_was_said_before_the_end_is_heard)
{
    start("echo a >&3; echo kernel backward >&3; echo b >&3; kill -SEGV $$");
    cr_assert_str_eq(line(), "a");
    cr_assert_str_eq(line(), "b");
    cr_assert_null(line());
    cr_assert_str_eq(worker.doing, "backward");
    gg_worker_end(&worker);
}

Test(worker, half_a_line_is_none)
{
    start("printf half >&3");
    cr_assert_null(line());
    gg_worker_end(&worker);
}

Test(worker, one_that_hangs_is_ended)
{
    start("trap '' TERM; echo kernel forward >&3; echo ready >&3; while :; do sleep 1; done");
    cr_assert_str_eq(line(), "ready");
    gg_ending e = gg_worker_end(&worker);
    cr_assert(e.in_kernel && !e.by_itself);
}

Test(worker, a_child_left_behind_does_not_hide_the_end, .timeout = 5)
{
    start("sleep 20 & echo $! >&3; kill -SEGV $$");
    pid_t child = (pid_t)atoi(line());
    cr_assert_null(line());
    cr_assert_str_eq(gg_worker_end(&worker).text, "ended with SIGSEGV");
    kill(child, SIGKILL);
}

Test(worker, a_line_without_end_is_the_end)
{
    start("exec 2>/dev/null; head -c 3000000 /dev/zero | tr '\\0' x 2>/dev/null >&3; sleep 5");
    cr_assert_null(line());
    gg_worker_end(&worker);
}

Test(worker, telling_one_that_has_gone_is_no_crash)
{
    start("exit 0");
    cr_assert_null(line());
    cr_assert_not(gg_worker_tell(&worker, "1\n"));
    gg_worker_end(&worker);
}

Test(worker, a_program_that_is_not_there)
{
    char name[] = "/nonexistent/program";
    char *argv[] = {name, NULL};
    cr_assert_eq(gg_worker_start(argv, &worker), GG_OK);
    cr_assert_null(line());
    cr_assert_str_eq(gg_worker_end(&worker).text, "ended with exit code 127");
}
