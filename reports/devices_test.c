/* SPDX-License-Identifier: Apache-2.0
 * Several devices in one record: listed and kept, and no part of the evidence. */
#include "reports/fixture_test.h"
#include "reports/merge.h"

TestSuite(devices, .fini = remove_folder);

static gg_run_record two_devices(int count)
{
    gg_run_record run = make_run(count);
    run.place.device_count = 2;
    SET(run.place.devices[0].name, "cuda:0");
    SET(run.place.devices[0].gpu_uuid, "00ff");
    SET(run.place.devices[1].name, "cuda:1");
    SET(run.place.devices[1].gpu_uuid, "01ff");
    for (int i = 0; i < count; i++) SET(run.cases[i].device, "cuda:%d", i % 2);
    run.cases[0].across = 2;
    return run;
}

Test(devices, come_back_and_are_no_evidence)
{
    uint64_t alone, several;
    gg_run_record one = make_run(4), run = two_devices(4), back;
    const char *a = temporary("a.json"), *b = temporary("b.json");
    cr_assert_eq(gg_report_write(&run, a), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_read(a, &back), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_write(&back, b), GG_OK, "%s", gg_message());
    same_files(a, b, true);
    cr_assert_eq(back.place.device_count, 2);
    cr_assert_str_eq(back.place.devices[1].gpu_uuid, "01ff");
    cr_assert_str_eq(back.cases[3].device, "cuda:1");
    cr_assert_eq(back.cases[0].across, 2);
    cr_assert_eq(back.cases[1].across, 0);
    cr_assert_eq(gg_report_evidence(&one, &alone), GG_OK);
    cr_assert_eq(gg_report_evidence(&run, &several), GG_OK);
    cr_assert_eq(alone, several);
    gg_run_free(&one);
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(devices, impossible_ones_are_not_written)
{
    gg_run_record run = two_devices(2);
    const char *path = temporary("c.json");
    run.cases[0].across = 1; /* compared with itself */
    cr_assert_eq(gg_report_write(&run, path), GG_INTERNAL);
    run.cases[0].across = 2;
    run.place.device_count = GG_MAX_DEVICES + 1;
    cr_assert_eq(gg_report_write(&run, path), GG_INTERNAL);
    run.place.device_count = 2;
    memset(run.place.devices[1].name, 'x', sizeof run.place.devices[1].name);
    cr_assert_eq(gg_report_write(&run, path), GG_INTERNAL);
    gg_run_free(&run);
}

Test(devices, of_merged_parts_are_listed_once)
{
    static const char *const paths[] = {"a.json", "b.json"};
    gg_run_record part[2] = {two_devices(4), two_devices(4)}, merged;
    for (int s = 0; s < 2; s++) {
        part[s].shard = s + 1;
        part[s].shards = part[s].count = 2;
        for (int i = 0; i < 2; i++) part[s].cases[i] = make_case(2 * i + s);
    }
    SET(part[1].place.devices[1].name, "cuda:2");
    cr_assert_eq(gg_merge(part, paths, 2, &merged), GG_OK, "%s", gg_message());
    cr_assert_eq(merged.place.device_count, 3);
    cr_assert_str_eq(merged.place.devices[2].name, "cuda:2");
    gg_run_free(&merged);
    for (int s = 0; s < 2; s++) gg_run_free(&part[s]);
}
