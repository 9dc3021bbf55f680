/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "reports/fields.h"
#include "reports/fixture_test.h"

TestSuite(report, .fini = remove_folder);

static gg_run_record awkward_run(void)
{
    gg_run_record run = make_run(6);
    gg_output_record *o = &run.cases[1].outputs[0];
    o->rmse = (double)NAN;
    o->truth_rms = -0.0;
    o->floor_rmse = 5e-324;
    o->gauge_max = (double)INFINITY;
    o->output_there = -(double)INFINITY;
    o->truth_there = 0.1;
    o->certificate = 1.7976931348623157e308;
    o->repeat_ulps = INT64_MAX;
    o->repeat_bits[0] = 0xffffffffu;
    o->repeat_bits[1] = 0x80000000u;
    o->dtype = GG_BF16;
    o->checks[0] = make_check("rmse", o->rmse, (double)INFINITY);
    SET(o->checks[0].note, "at [0,1]: \"quoted\" \\ \n \x1b[31m \xe2\x82\xac \xff end");
    run.cases[1].verdict = GG_FAILED;
    SET(run.cases[1].reason, "rmse: nan");
    run.cases[2].verdict = GG_NOT_VERIFIED;
    run.cases[2].output_count = run.cases[2].runs = 0;
    SET(run.cases[2].reason, "declined: D = 300");
    return run;
}

static void assert_written(const gg_run_record *run, const char *path)
{
    cr_assert_eq(gg_report_write(run, path), GG_OK, "%s", gg_message());
}

static gg_run_record assert_read(const char *path)
{
    gg_run_record run;
    cr_assert_eq(gg_report_read(path, &run), GG_OK, "%s", gg_message());
    return run;
}

Test(report, write_read_write_gives_equal_bytes)
{
    gg_run_record run = awkward_run();
    const char *a = temporary("a.json"), *b = temporary("b.json");
    assert_written(&run, a);
    gg_run_record back = assert_read(a);
    assert_written(&back, b);
    same_files(a, b, true);
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(report, every_field_comes_back)
{
    gg_run_record run = awkward_run();
    const char *path = temporary("a.json");
    assert_written(&run, path);
    gg_run_record back = assert_read(path);
    char was[256], is[256];
    cr_assert_null(gg_fields_differ(gg_run_fields, &run, &back, was, is));
    cr_assert_null(gg_fields_differ(gg_place_fields, &run.place, &back.place, was, is));
    cr_assert_eq(back.count, run.count);
    for (int i = 0; i < run.count; i++) {
        gg_case_record *x = &run.cases[i], *y = &back.cases[i];
        cr_assert_str_eq(x->id, y->id);
        cr_assert_str_eq(x->reason, y->reason);
        cr_assert_eq(x->verdict, y->verdict);
        cr_assert_eq(x->seed, y->seed);
        cr_assert_arr_eq(x->extent, y->extent, sizeof x->extent);
        cr_assert_null(gg_fields_differ(gg_case_fields, x, y, was, is));
        cr_assert_eq(x->output_count, y->output_count);
        for (int o = 0; o < x->output_count; o++) {
            gg_output_record *p = &x->outputs[o], *q = &y->outputs[o];
            cr_assert_null(gg_fields_differ(gg_output_fields, p, q, was, is), "%s %s",
                           was, is);
            cr_assert_arr_eq(p->shape, q->shape, sizeof p->shape);
            cr_assert_eq(p->ndim, q->ndim);
            cr_assert_eq(p->check_count, q->check_count);
            for (int k = 0; k < p->check_count; k++)
                cr_assert_null(gg_fields_differ(gg_check_fields, &p->checks[k],
                                                &q->checks[k], was, is),
                               "%s %s", was, is);
        }
    }
    cr_assert(signbit(back.cases[1].outputs[0].truth_rms));
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(report, gzip_is_read_and_damaged_gzip_is_not)
{
    gg_run_record run = make_run(40), back;
    const char *plain = temporary("a.json");
    assert_written(&run, plain);
    size_t size;
    char *text = read_all(plain, &size);
    const char *packed = temporary("a.json.gz");
    gzFile gz = gzopen(packed, "wb");
    cr_assert_eq(gzwrite(gz, text, (unsigned)size), (int)size);
    gzclose(gz);
    free(text);
    back = assert_read(packed);
    cr_assert_eq(back.count, 40);
    gg_run_free(&back);
    text = read_all(packed, &size);
    write_bytes(packed, text, size - 6);
    cr_assert_eq(gg_report_read(packed, &back), GG_BAD_INPUT, "cut in the checksum");
    text[size - 7] ^= 1;
    write_bytes(packed, text, size);
    cr_assert_eq(gg_report_read(packed, &back), GG_BAD_INPUT, "wrong checksum");
    free(text);
    gg_run_free(&run);
}

/* Order of keys and blanks carry no meaning in JSON: what jq -S makes is the same
 * report. */
Test(report, order_of_keys_does_not_matter)
{
    if (system("jq --version > /dev/null 2>&1") != 0) cr_skip_test("not run: no jq");
    gg_run_record run = awkward_run();
    const char *a = temporary("a.json"), *b = temporary("b.json");
    assert_written(&run, a);
    char command[400];
    SET(command, "jq -S . %s > %s", a, b);
    cr_assert_eq(system(command), 0);
    gg_run_record back = assert_read(b);
    assert_written(&back, b);
    same_files(a, b, true);
    gg_run_free(&run);
    gg_run_free(&back);
}

/* Lines of time and place, which are all that equal runs may differ in. */
static void drop_time_and_place(char *text)
{
    const char *const marks[] = {
        "\"start\": ",           "\"stop\": ",    "\"duration\": ", "\"seconds\": ",
        "\"seconds_decimal\": ", "\"started\": ", "\"finished\": ", "\"host_cpu\": ",
        "\"gpu_uuid\": "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (char *at = text; (at = strstr(at, marks[i])) != NULL;) {
            at += strlen(marks[i]);
            size_t value = strcspn(at, ",\n}");
            memmove(at, at + value, strlen(at + value) + 1);
        }
}

Test(report, equal_runs_differ_in_time_and_place_alone)
{
    gg_run_record run = make_run(6);
    const char *a = temporary("a.json"), *b = temporary("b.json");
    assert_written(&run, a);
    uint64_t first, second;
    cr_assert_eq(gg_report_evidence(&run, &first), GG_OK);
    for (int i = 0; i < run.count; i++) run.cases[i].seconds += 1 + i;
    run.place.seconds = 1e9;
    SET(run.place.started, "2027-01-02T03:04:05Z");
    SET(run.place.finished, "nonsense");
    SET(run.place.host_cpu, "another");
    SET(run.place.gpu_uuid, "GPU-2");
    assert_written(&run, b);
    cr_assert_eq(gg_report_evidence(&run, &second), GG_OK);
    cr_assert_eq(first, second);
    same_files(a, b, false);
    size_t size;
    char *x = read_all(a, &size), *y = read_all(b, &size);
    drop_time_and_place(x);
    drop_time_and_place(y);
    cr_assert_str_eq(x, y);
    free(x);
    free(y);
    run.cases[3].outputs[1].digest ^= 1;
    cr_assert_eq(gg_report_evidence(&run, &second), GG_OK);
    cr_assert_neq(first, second, "one bit of one output");
    gg_run_free(&run);
}

Test(report, empty_run_is_not_verified)
{
    gg_run_record run = make_run(0);
    const char *path = temporary("a.json");
    assert_written(&run, path);
    gg_run_record back = assert_read(path);
    cr_assert_eq(gg_run_verdict(&back), GG_NOT_VERIFIED);
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(report, a_contradictory_record_is_not_written)
{
    gg_run_record run = make_run(2);
    const char *path = temporary("a.json");
    run.cases[1].outputs[0].checks[0].verdict = GG_FAILED;
    cr_assert_eq(gg_report_write(&run, path), GG_INTERNAL);
    cr_assert_neq(access(path, F_OK), 0);
    gg_run_free(&run);
}

static void expect_io(const gg_run_record *run, const char *path)
{
    cr_assert_eq(gg_report_write(run, path), GG_IO, "%s", path);
    cr_assert_not_null(strstr(gg_message(), path), "%s", gg_message());
    cr_assert_not_null(strstr(gg_message(), "; "), "a remedy: %s", gg_message());
}

Test(report, what_cannot_be_written_says_so)
{
    gg_run_record run = make_run(2);
    /* A pipe first: were a device renamed over, a test run by root would lose one. */
    const char *pipe_path = temporary("pipe");
    struct stat kind;
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    int reader = open(pipe_path, O_RDWR | O_NONBLOCK);
    assert_written(&run, pipe_path);
    cr_assert(stat(pipe_path, &kind) == 0 && S_ISFIFO(kind.st_mode), "still a pipe");
    close(reader);
    expect_io(&run, "/dev/full");
    cr_assert_not_null(strstr(gg_message(), strerror(ENOSPC)));
    struct stat there;
    cr_assert(stat("/dev/full", &there) == 0 && S_ISCHR(there.st_mode), "still a "
                                                                        "device");
    expect_io(&run, temporary("missing/a.json"));
    expect_io(&run, "/proc/a.json");
    const char *folder = temporary("folder");
    cr_assert_eq(mkdir(folder, 0755), 0);
    expect_io(&run, folder);
    gg_run_free(&run);
}

/* The disk fills in the middle: the old report stays, the part is removed. */
Test(report, a_full_disk_leaves_the_old_report)
{
    gg_run_record run = make_run(1), large = make_run(200);
    const char *path = temporary("a.json"), *copy = temporary("copy.json");
    assert_written(&run, path);
    assert_written(&run, copy);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {65536, 65536};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_io(&large, path);
    same_files(path, copy, true);
    char part[200];
    SET(part, "%s.tmp-%ld", path, (long)getpid());
    cr_assert_neq(access(part, F_OK), 0, "%s", part);
    gg_run_free(&run);
    gg_run_free(&large);
}

Test(report, a_link_is_written_through)
{
    gg_run_record run = make_run(1);
    const char *path = temporary("a.json"), *link = temporary("link.json");
    assert_written(&run, path);
    cr_assert_eq(symlink(path, link), 0);
    run.place.seconds = 7;
    assert_written(&run, link);
    struct stat there;
    cr_assert(lstat(link, &there) == 0 && S_ISLNK(there.st_mode));
    gg_run_record back = assert_read(path);
    cr_assert_eq(back.place.seconds, 7);
    gg_run_free(&run);
    gg_run_free(&back);
}

/* Runs the public validator; skipped (and said) where it is not installed. */
static int validate(const char *path)
{
    char command[400];
    SET(command, "reports/schema/validate.sh %s > %s.txt 2>&1", path, path);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(report, schema_accepts_reports_and_refuses_edited_ones)
{
    if (system("python3 -c 'import jsonschema' 2>/dev/null") != 0)
        cr_skip_test("not run: no python3-jsonschema");
    gg_run_record run = awkward_run();
    const char *good = temporary("good.json"), *bad = temporary("bad.json");
    assert_written(&run, good);
    cr_assert_eq(validate(good), 0);
    const char *const edits[][3] = {
        {"\"tests\": [", "\"duration\": 250,", ""},
        {"\"tests\": [", "\"rmse\": ", "\"rmsd\": "},
        {"\"tests\": [", "\"status\": \"passed\"", "\"status\": \"green\""},
        {"\"tests\": [", "\"status\": \"failed\", \"rawStatus\": \"failed\"",
         "\"status\": \"passed\", \"rawStatus\": \"passed\""},
        {"\"summary\"", "\"pending\": 0,", ""},
        {"\"limits\"", "0x1.199999999999ap+0", "1.1"},
    };
    size_t size;
    char *text = read_all(good, &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *other = edited(text, edits[i][0], edits[i][1], edits[i][2]);
        write_bytes(bad, other, strlen(other));
        cr_assert_eq(validate(bad), 1, "edit %zu", i);
        free(other);
    }
    cr_assert_eq(validate(temporary("nowhere.json")), 1);
    free(text);
    gg_run_free(&run);
}
