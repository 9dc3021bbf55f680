/* SPDX-License-Identifier: Apache-2.0
 * A member that is added to record.h and forgotten in fields.c would be missing
 * from every report, from the evidence and from the identity of a journal. */
#include <ctype.h>

#include "reports/fields.h"
#include "reports/fixture_test.h"

static bool listed(const gg_field *fields, const char *name, const char *elsewhere)
{
    char word[80];
    SET(word, " %s ", name);
    if (strstr(elsewhere, word)) return true;
    for (const gg_field *f = fields; f->key; f++)
        if (strcmp(f->key, name) == 0) return true;
    return false;
}

static void drop_comments(char *text)
{
    for (char *at = text; (at = strstr(at, "/*")) != NULL;) {
        char *end = strstr(at, "*/");
        cr_assert_not_null(end);
        memset(at, ' ', (size_t)(end + 2 - at));
    }
}

/* The identifier that ends just before `end`, array bounds skipped. */
static void name_before(const char *start, const char *end, char name[64])
{
    const char *bracket = memchr(start, '[', (size_t)(end - start));
    if (bracket) end = bracket;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    const char *first = end;
    while (first > start && (isalnum((unsigned char)first[-1]) || first[-1] == '_'))
        first--;
    snprintf(name, 64, "%.*s", (int)(end - first), first);
}

static void expect_all(const char *type, const gg_field *fields, const char *elsewhere)
{
    size_t size;
    char *text = read_all("reports/record.h", &size), head[80], tail[80], name[64];
    drop_comments(text);
    SET(head, "typedef struct %s {", type);
    SET(tail, "} %s;", type);
    const char *at = strstr(text, head), *stop = at ? strstr(at, tail) : NULL;
    cr_assert_not_null(stop, "%s", type);
    int members = 0;
    for (at += strlen(head); at < stop;) {
        size_t length = strcspn(at, ",;}");
        if (at + length >= stop) break;
        name_before(at, at + length, name);
        cr_assert(listed(fields, name, elsewhere), "%s.%s is in no report", type, name);
        members++;
        at += length + 1;
    }
    cr_assert(members >= 2, "%s: %d members found", type, members);
    free(text);
}

Test(fields, every_member_of_a_record_is_stored)
{
    expect_all("gg_run_record", gg_run_fields,
               " limits limit_count place cases count ");
    expect_all("gg_place", gg_place_fields, " devices device_count ");
    expect_all("gg_device_record", gg_device_fields, "");
    expect_all("gg_limit_record", gg_limit_fields, "");
    expect_all("gg_case_record", gg_case_fields,
               " id verdict reason seconds device across extent outputs output_count levels "
               "level_count ");
    expect_all("gg_output_record", gg_output_fields,
               " ndim shape checks check_count repeat_bits bits_map error_map ");
    expect_all("gg_check", gg_check_fields, "");
    expect_all("gg_level_record", gg_level_fields,
               " overlap control_runs differences difference_count ");
    expect_all("gg_map", gg_map_fields, " cells ");
    expect_all("gg_level_difference", gg_level_difference_fields, " bits ");
}

Test(fields, a_difference_is_named)
{
    gg_run_record a = make_run(0), b = a;
    char was[256], is[256];
    cr_assert_null(gg_fields_differ(gg_run_fields, &a, &b, was, is));
    b.suite_digest ^= 1;
    cr_assert_str_eq(gg_fields_differ(gg_run_fields, &a, &b, was, is), "suite_digest");
    cr_assert_str_eq(is, "xxh:0000000000000001");
    gg_limit_record x = {"dq", (double)NAN, 0.0, 1}, y = x;
    cr_assert_null(gg_fields_differ(gg_limit_fields, &x, &y, was, is), "NaN is NaN");
    y.gauge_p99 = -0.0;
    cr_assert_str_eq(gg_fields_differ(gg_limit_fields, &x, &y, was, is), "gauge_p99");
    gg_run_free(&a);
}

Test(fields, what_would_be_lost_is_unfit)
{
    gg_output_record o = make_output("dq", 0);
    cr_assert_null(gg_fields_unfit(gg_output_fields, &o));
    o.unwritten = GG_COUNT_MAX + 1;
    cr_assert_str_eq(gg_fields_unfit(gg_output_fields, &o), "unwritten");
    o = make_output("dq", 0);
    o.dtype = GG_DTYPES;
    cr_assert_str_eq(gg_fields_unfit(gg_output_fields, &o), "dtype");
    memset(o.name, 'x', sizeof o.name);
    cr_assert_str_eq(gg_fields_unfit(gg_output_fields, &o), "name");
}
