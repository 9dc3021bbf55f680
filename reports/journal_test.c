/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "reports/fixture_test.h"

TestSuite(journal, .fini = remove_folder);

/* The same run without its cases, as a harness holds it before it starts. */
static gg_run_record bare(const gg_run_record *run)
{
    gg_run_record other = *run;
    other.cases = NULL;
    other.count = 0;
    return other;
}

static void write_journal(const gg_run_record *run, const char *path, int from, int to)
{
    gg_run_record started = bare(run);
    gg_journal *journal = NULL;
    cr_assert_eq(gg_journal_open(path, from > 0, &started, &journal), GG_OK, "%s",
                 gg_message());
    cr_assert_eq(started.count, from);
    for (int i = from; i < to; i++)
        cr_assert_eq(gg_journal_append(journal, &started, &run->cases[i]), GG_OK, "%s",
                     gg_message());
    gg_journal_close(journal, false);
    gg_run_free(&started);
}

static gg_status try_open(const char *path, bool resume, gg_run_record *run)
{
    gg_journal *journal = NULL;
    gg_status status = gg_journal_open(path, resume, run, &journal);
    cr_assert_eq(journal != NULL, status == GG_OK);
    gg_journal_close(journal, false);
    return status;
}

Test(journal, resumed_run_gives_the_report_of_an_unbroken_one)
{
    gg_run_record run = make_run(7);
    run.cases[2].outputs[0].rmse = (double)NAN;
    run.cases[2].outputs[0].checks[2] = make_check("rmse", (double)NAN, 1);
    run.cases[2].verdict = GG_FAILED;
    const char *path = temporary("run.journal");
    write_journal(&run, path, 0, 3);
    write_journal(&run, path, 3, 7);
    gg_run_record back = bare(&run);
    cr_assert_eq(try_open(path, true, &back), GG_OK, "%s", gg_message());
    cr_assert_eq(back.count, 7);
    const char *a = temporary("a.json"), *b = temporary("b.json");
    cr_assert_eq(gg_report_write(&run, a), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_write(&back, b), GG_OK, "%s", gg_message());
    same_files(a, b, true);
    gg_run_free(&run);
    gg_run_free(&back);
}

/* kill -9 at any byte: exactly the complete lines are there, and the file is whole
 * again for the next case. */
Test(journal, cut_anywhere_keeps_the_complete_lines)
{
    gg_run_record run = make_run(4);
    const char *path = temporary("run.journal"), *cut_path = temporary("cut.journal");
    write_journal(&run, path, 0, 4);
    size_t size;
    char *text = read_all(path, &size);
    uint64_t state = 42;
    for (int round = 0; round < 120; round++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t cut = round == 0  ? size
                     : round < 4 ? (size_t)round
                                 : (state >> 33) % size;
        int lines = 0;
        for (size_t i = 0; i < cut; i++) lines += text[i] == '\n';
        write_bytes(cut_path, text, cut);
        gg_run_record back = bare(&run);
        gg_journal *journal = NULL;
        cr_assert_eq(gg_journal_open(cut_path, true, &back, &journal), GG_OK, "%s",
                     gg_message());
        int kept = lines ? lines - 1 : 0;
        cr_assert_eq(back.count, kept, "cut at %zu", cut);
        for (int i = kept; i < 4; i++)
            cr_assert_eq(gg_journal_append(journal, &back, &run.cases[i]), GG_OK);
        gg_journal_close(journal, false);
        same_files(path, cut_path, true);
        gg_run_free(&back);
    }
    free(text);
    gg_run_free(&run);
}

/* A real kill in the middle of writing, not a simulation of one. */
Test(journal, survives_a_kill)
{
    gg_run_record run = make_run(500);
    const char *path = temporary("run.journal");
    pid_t child = fork();
    if (child == 0) {
        gg_run_record own = bare(&run);
        gg_journal *journal = NULL;
        if (gg_journal_open(path, false, &own, &journal) != GG_OK) _exit(1);
        for (int i = 0; i < 500; i++) gg_journal_append(journal, &own, &run.cases[i]);
        pause();
    }
    struct stat there;
    while (stat(path, &there) != 0 || there.st_size < 40000)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    gg_run_record back = bare(&run);
    cr_assert_eq(try_open(path, true, &back), GG_OK, "%s", gg_message());
    cr_assert(back.count >= 5, "%d", back.count);
    for (int i = 0; i < back.count; i++)
        cr_assert_str_eq(back.cases[i].id, run.cases[i].id);
    gg_run_free(&back);
    gg_run_free(&run);
}

static void expect_other(const gg_run_record *run, const char *path, const char *words)
{
    gg_run_record other = bare(run);
    cr_assert_eq(try_open(path, true, &other), GG_BAD_INPUT);
    cr_assert_not_null(strstr(gg_message(), words), "\"%s\" lacks \"%s\"", gg_message(),
                       words);
    cr_assert_eq(other.count, 0);
    gg_run_free(&other);
}

Test(journal, another_run_is_refused_by_field)
{
    gg_run_record run = make_run(3), other = run;
    const char *path = temporary("run.journal");
    write_journal(&run, path, 0, 2);
    SET(other.kernel, "split");
    expect_other(&other, path, "kernel was \"turbo\", is \"split\"");
    other = run;
    other.kernel_digest = 1;
    expect_other(&other, path, "kernel_digest was \"xxh:ffffffffffffffff\"");
    other = run;
    other.repeats = 6;
    expect_other(&other, path, "repeats was \"5\", is \"6\"");
    other = run;
    other.limits[0].gauge_p99 = 0.13;
    expect_other(&other, path, "limit gauge_p99 of dbias");
    other = run;
    other.limit_count = 0;
    expect_other(&other, path, "number of limits was \"1\", is \"0\"");
    other = run;
    other.place.seconds = 9;
    SET(other.place.host_cpu, "elsewhere");
    gg_run_record back = bare(&other);
    cr_assert_eq(try_open(path, true, &back), GG_OK, "place is no identity");
    cr_assert_eq(back.count, 2);
    gg_run_free(&back);
    gg_run_free(&run);
}

Test(journal, nothing_finished_is_lost_by_accident)
{
    gg_run_record run = make_run(3);
    const char *path = temporary("run.journal"), *notes = temporary("notes.txt");
    write_journal(&run, path, 0, 2);
    gg_run_record again = bare(&run);
    cr_assert_eq(try_open(path, false, &again), GG_BAD_INPUT);
    cr_assert_not_null(strstr(gg_message(), "--resume"), "%s", gg_message());
    write_bytes(notes, "my notes", 8);
    cr_assert_eq(try_open(notes, true, &again), GG_BAD_INPUT);
    write_bytes(path, "my notes\n", 9);
    cr_assert_eq(try_open(path, true, &again), GG_BAD_INPUT);
    size_t size;
    char *text = read_all(notes, &size);
    cr_assert_str_eq(text, "my notes");
    free(text);
    gg_run_free(&run);
}

Test(journal, a_damaged_line_in_the_middle_is_refused)
{
    gg_run_record run = make_run(3);
    const char *path = temporary("run.journal");
    write_journal(&run, path, 0, 3);
    size_t size;
    char *text = read_all(path, &size);
    char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
    const char *const edits[][2] = {{"\"rawStatus\": \"passed\"", "line 3.status"},
                                    {"\"verdict\": \"passed\"", "line 3"},
                                    {"0x", "line 3"},
                                    {"{", "line 3"}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *at = strstr(line, edits[i][0]), old = *at;
        if (i == 0) memcpy(at + 14, "failed", 6);
        else if (i == 1) memcpy(at + 12, "failed", 6);
        else *at = '}';
        write_bytes(path, text, size);
        expect_other(&run, path, edits[i][1]);
        if (i == 0) memcpy(at + 14, "passed", 6);
        else if (i == 1) memcpy(at + 12, "passed", 6);
        else *at = old;
    }
    write_bytes(path, text, size);
    FILE *file = fopen(path, "ab");
    fputs(line, file);
    fclose(file);
    expect_other(&run, path, "contradicts itself"); /* the same case twice */
    free(text);
    gg_run_free(&run);
}

Test(journal, two_writers_are_refused)
{
    gg_run_record run = make_run(1), other = bare(&run);
    const char *path = temporary("run.journal");
    gg_journal *journal = NULL;
    cr_assert_eq(gg_journal_open(path, false, &other, &journal), GG_OK);
    cr_assert_eq(try_open(path, true, &other), GG_BAD_INPUT);
    cr_assert_not_null(strstr(gg_message(), "another process"), "%s", gg_message());
    gg_journal_close(journal, true);
    cr_assert_neq(access(path, F_OK), 0, "a finished journal is removed");
    cr_assert_eq(try_open(path, true, &other), GG_OK, "%s", gg_message());
    gg_journal_close(NULL, true);
    gg_run_free(&run);
}

Test(journal, a_contradictory_case_is_not_appended)
{
    gg_run_record run = make_run(1), other = bare(&run);
    gg_journal *journal = NULL;
    const char *path = temporary("run.journal");
    cr_assert_eq(gg_journal_open(path, false, &other, &journal), GG_OK);
    run.cases[0].outputs[0].checks[0].verdict = GG_FAILED;
    cr_assert_eq(gg_journal_append(journal, &other, &run.cases[0]), GG_INTERNAL);
    gg_journal_close(journal, false);
    cr_assert_eq(try_open(path, true, &other), GG_OK);
    cr_assert_eq(other.count, 0);
    cr_assert_eq(gg_journal_open(temporary("no/such"), false, &other, &journal), GG_IO);
    gg_run_free(&run);
}
