/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/golden.h"

static char path[64];

static void name_file(void) { snprintf(path, sizeof path, "/tmp/golden-test-%ld", (long)getpid()); }

static void remove_file(void) { unlink(path); }

TestSuite(golden, .init = name_file, .fini = remove_file);

static gg_run_record sample(gg_case_record *c)
{
    gg_run_record run = {.cases = c, .count = 1, .suite_digest = 0xabcdef};
    *c = (gg_case_record){.output_count = 2, .input_digest = 7, .runs = 2};
    strcpy(c->id, "normal-N3-s000");
    strcpy(c->outputs[0].name, "o");
    strcpy(c->outputs[1].name, "dq");
    c->outputs[0].digest = 0x1234567890abcdefull;
    c->outputs[1].digest = 2;
    strcpy(run.operator_name, "op");
    strcpy(run.kernel, "turbo");
    strcpy(run.suite, "s");
    strcpy(run.place.gpu, "a card");
    strcpy(run.version, "1");
    strcpy(run.commit, "c");
    return run;
}

Test(golden, what_is_written_is_read)
{
    gg_case_record c;
    gg_run_record run = sample(&c);
    gg_golden golden;
    cr_assert_eq(gg_golden_write(&run, path), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_golden_load(path, &golden), GG_OK, "%s", gg_message());
    cr_assert_eq(golden.count, 2);
    cr_assert_eq(golden.suite_digest, 0xabcdef);
    cr_assert_str_eq(golden.source, "a card; gradgate 1 c");
    const gg_golden_entry *e = gg_golden_find(&golden, "normal-N3-s000", "o");
    cr_assert_eq(e->digest, 0x1234567890abcdefull);
    cr_assert_eq(e->input_digest, 7);
    cr_assert_null(gg_golden_find(&golden, "normal-N3-s000", "dk"));
    cr_assert_null(gg_golden_find(&golden, "other", "o"));
    gg_golden_free(&golden);
}

Test(golden, a_case_that_did_not_run_gives_no_file)
{
    gg_case_record c;
    gg_run_record run = sample(&c);
    c.output_count = 0;
    cr_assert_eq(gg_golden_write(&run, path), GG_BAD_INPUT);
    cr_assert_neq(access(path, F_OK), 0);
    c.output_count = 2;
    c.outputs[1].repeat_differing = 1;
    cr_assert_eq(gg_golden_write(&run, path), GG_BAD_INPUT, "bits that do not come back");
    c.outputs[1].repeat_differing = 0;
    c.runs = 1;
    cr_assert_eq(gg_golden_write(&run, path), GG_BAD_INPUT);
    c.runs = 2;
    cr_assert_eq(gg_golden_write(&run, "/nonexistent/golden"), GG_IO);
}

Test(golden, hostile_files_are_refused)
{
    gg_case_record c;
    gg_run_record run = sample(&c);
    char whole[4096];
    gg_golden golden;
    cr_assert_eq(gg_golden_write(&run, path), GG_OK);
    FILE *file = fopen(path, "r");
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t keep = 0; keep < size; keep++) { /* every truncation */
        file = fopen(path, "w");
        fwrite(whole, 1, keep, file);
        fclose(file);
        cr_assert_eq(gg_golden_load(path, &golden), GG_BAD_INPUT, "%zu of %zu", keep, size);
    }
    cr_assert_eq(gg_golden_load("/nonexistent", &golden), GG_BAD_INPUT);
    cr_assert_eq(gg_golden_load("/tmp", &golden), GG_BAD_INPUT);
}
