/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

gg_limit_record gg_limits_of(const gg_limits *limits, gg_dtype dtype)
{
    return (gg_limit_record){
        .rmse_over_floor = dtype == GG_F32 ? limits->rmse_f32 : limits->rmse_over_floor,
        .gauge_p99 = limits->gauge_p99, .gauge_max = limits->gauge_max};
}

/* A record that is full loses its last check to one that says so: a check that cannot be
 * kept must not read as passed. */
static gg_check *append(gg_output_record *output, const char *name)
{
    if (output->check_count >= GG_MAX_CHECKS) {
        gg_check *last = &output->checks[GG_MAX_CHECKS - 1];
        *last = (gg_check){.verdict = GG_NOT_VERIFIED, .value = NAN, .limit = NAN};
        snprintf(last->name, sizeof last->name, "room");
        snprintf(last->note, sizeof last->note, "no room for check %s", name);
        return NULL;
    }
    gg_check *check = &output->checks[output->check_count++];
    *check = (gg_check){.verdict = GG_NOT_VERIFIED, .value = NAN, .limit = NAN};
    snprintf(check->name, sizeof check->name, "%s", name);
    return check;
}

void gg_check_add(gg_output_record *output, const char *name, double value, double limit,
                  const char *note)
{
    gg_check *check = append(output, name);
    if (check == NULL) return;
    check->value = value;
    check->limit = limit;
    check->verdict = gg_judge(value, limit);
    if (check->verdict != GG_PASSED)
        snprintf(check->note, sizeof check->note, "%s", note);
}

void gg_check_add_stated(gg_output_record *output, const char *name, double value,
                         double limit, const char *note)
{
    if (!isnan(limit)) {
        gg_check_add(output, name, value, limit, note);
        return;
    }
    int before = output->check_count;
    char text[192];
    snprintf(text, sizeof text, "%.4g, and the kernel states no limit: fill in .limits "
             "(abi.h), or run with --limits-of KERNEL", value);
    gg_check_add_missing(output, name, text);
    if (output->check_count > before) output->checks[before].value = value;
}

void gg_check_add_missing(gg_output_record *output, const char *name, const char *note)
{
    gg_check *check = append(output, name);
    if (check != NULL) snprintf(check->note, sizeof check->note, "%s", note);
}

/* "[3,0,17,5]" of a flat index. */
static void place(const gg_output_record *o, int64_t flat, char *text, size_t size)
{
    int64_t index[GG_MAX_DIMS] = {0};
    for (int i = o->ndim - 1; i >= 0; i--) {
        index[i] = o->shape[i] > 0 ? flat % o->shape[i] : 0;
        flat = o->shape[i] > 0 ? flat / o->shape[i] : 0;
    }
    size_t used = 0;
    for (int i = 0; i < o->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%c%" PRId64, i ? ',' : '[',
                                 index[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

static void judge_repeat(gg_output_record *o, int runs)
{
    char note[192], where[96];
    if (runs < 2) {
        gg_check_add_missing(o, "repeat", "one run cannot show a difference: --repeats 2");
        return;
    }
    place(o, o->repeat_first, where, sizeof where);
    snprintf(note, sizeof note,
             "%" PRId64 " of %" PRId64 " elements changed between equal runs; first %s%s: "
             "0x%0*" PRIx32 " then 0x%0*" PRIx32 ", up to %" PRId64 " ulp", o->repeat_differing,
             o->count, o->name, where, o->dtype == GG_BF16 ? 4 : 8, o->repeat_bits[0],
             o->dtype == GG_BF16 ? 4 : 8, o->repeat_bits[1], o->repeat_ulps);
    gg_check_add(o, "repeat", (double)o->repeat_differing, 0, note);
    snprintf(note, sizeof note, "%" PRId64 " elements kept the poison of every run",
             o->unwritten);
    gg_check_add(o, "written", (double)o->unwritten, 0, note);
}

/* How close the truth must be to MPFR, in units of the gauge; see judge.h. */
static double certificate_limit(const gg_output_record *o)
{
    double own = o->certified_error;
    bool measured = o->certified_elements[0] != 0;
    if (!measured || !(own < 1e-4)) return 1e-6;
    return (own > GG_JUDGE_EXACT ? own : GG_JUDGE_EXACT) / 100;
}

/* There is no truth to judge by. That is the truth's fault and never the kernel's: nothing
 * that needs it may pass or fail. */
static void refuse(gg_output_record *o, double limit)
{
    static const char *const need_it[] = {"pattern", "rmse", "gauge_p99", "gauge_max"};
    char note[192];
    snprintf(note, sizeof note, "no truth to judge by: FP64 is %.3g of the gauge away from "
             "MPFR at element %" PRId64 ", which must be at most %.3g; the kernel is %.3g "
             "away", o->certificate, o->certificate_at, limit, o->certified_error);
    gg_check_add_missing(o, "certificate", note);
    for (size_t i = 0; i < sizeof need_it / sizeof *need_it; i++)
        gg_check_add_missing(o, need_it[i], "the truth is not certain: see certificate");
    if (o->stated_rmse != 0)
        gg_check_add_missing(o, "roundings", "the truth is not certain: see certificate");
}

/* What an RMSE is in units of; see judge.h. */
static double rmse_scale(const gg_output_record *o)
{
    return hypot(o->floor_rmse, o->allowance_rms / 128);
}

/* The statistical checks: they need elements enough to be statistics. */
static void judge_spread(gg_output_record *o, const gg_limit_record *limit,
                         const char *where)
{
    char note[192];
    double scale = rmse_scale(o);
    double value = o->rmse == 0 ? 0 : o->rmse / scale;
    snprintf(note, sizeof note, "RMSE %.4g is %.3g times its scale %.4g, limit %g (floor %.4g)",
             o->rmse, value, scale, limit->rmse_over_floor, o->floor_rmse);
    gg_check_add_stated(o, "rmse", value, limit->rmse_over_floor, note);
    snprintf(note, sizeof note, "1 %% of the errors exceed %.3g of their allowance, limit %g; "
             "worst %s%s: %.9g, truth %.9g", o->gauge_p99, limit->gauge_p99, o->name, where,
             o->output_there, o->truth_there);
    gg_check_add_stated(o, "gauge_p99", o->gauge_p99, limit->gauge_p99, note);
}

/* The RMSE against what the stated roundings make of the same input. A kernel that is more
 * exact than it states is not to blame. */
static void judge_roundings(gg_output_record *o)
{
    char note[192];
    double share = pow(o->stated_rough / o->stated_rmse, 2); /* of what is right in size only */
    if (o->stated_rmse == 0 || o->count < GG_JUDGE_FEW || share > GG_JUDGE_ROUGH) return;
    if (isnan(share)) {
        gg_check_add_missing(o, "roundings", "the evaluation of the stated roundings is NaN");
        return;
    }
    double ratio = o->rmse / o->stated_rmse;
    snprintf(note, sizeof note, "RMSE %.4g is %.3g times the %.4g that the roundings stated by the "
             "kernel make of this input, limit %g: 'gradgate budget' has their shares", o->rmse,
             ratio, o->stated_rmse, GG_JUDGE_STATED);
    gg_check_add(o, "roundings", ratio, GG_JUDGE_STATED, note);
}

/* A limit on the RMSE that neither zeros in place of the output nor any known arithmetic would
 * exceed; the unit of FP32 is 128 times smaller. */
static bool is_blind_rmse(const gg_output_record *o, double limit)
{
    return limit > GG_JUDGE_BLIND * (o->dtype == GG_F32 ? 128 : 1) &&
           !(limit * rmse_scale(o) < o->truth_rms);
}

/* One figure may be stated to be unlimited, but not all that are judged. */
static bool is_blind(const gg_output_record *o, const gg_limit_record *limit)
{
    bool few = o->count < GG_JUDGE_FEW;
    return limit->gauge_max > GG_JUDGE_BLIND &&
           (few || limit->gauge_p99 > GG_JUDGE_BLIND) &&
           (few || is_blind_rmse(o, limit->rmse_over_floor));
}

static void judge_error(gg_output_record *o, const gg_limit_record *limit)
{
    char note[192], where[96];
    place(o, o->pattern_first, where, sizeof where);
    snprintf(note, sizeof note, "%" PRId64 " elements are NaN or infinite where the truth "
             "is not, or reverse; first %s%s", o->pattern_mismatch, o->name, where);
    gg_check_add(o, "pattern", (double)o->pattern_mismatch, 0, note);

    place(o, o->gauge_max_at, where, sizeof where);
    if (o->count >= GG_JUDGE_FEW) judge_spread(o, limit, where);
    judge_roundings(o);
    snprintf(note, sizeof note, "error is %.3g times its allowance at %s%s: %.9g, truth %.9g",
             o->gauge_max, o->name, where, o->output_there, o->truth_there);
    if (is_blind(o, limit) && o->gauge_max <= limit->gauge_max) {
        snprintf(note, sizeof note, "its limits judge nothing, gauge_max %g among them: above %d "
                 "they let any error pass; state what its arithmetic needs (abi.h), or run with "
                 "--limits-of KERNEL", limit->gauge_max, GG_JUDGE_BLIND);
        gg_check_add_missing(o, "gauge_max", note);
    }
    else gg_check_add_stated(o, "gauge_max", o->gauge_max, limit->gauge_max, note);
}

void gg_judge_output(gg_output_record *o, const gg_limit_record *limit, int runs)
{
    double near = certificate_limit(o);
    bool certified = o->certified > 0, certain = o->certificate <= near;
    if (certified && !certain) refuse(o, near);
    else judge_error(o, limit);
    judge_repeat(o, runs);
    if (certified && certain) gg_check_add(o, "certificate", o->certificate, near, "");
}

void gg_judge_case(gg_case_record *record)
{
    gg_verdict worst = GG_PASSED;
    int checks = 0;
    for (int i = 0; i < record->output_count; i++) {
        const gg_output_record *o = &record->outputs[i];
        for (int c = 0; c < o->check_count; c++, checks++) {
            gg_verdict verdict = o->checks[c].verdict;
            if (gg_verdict_worse(worst, verdict) == worst) continue;
            worst = verdict;
            snprintf(record->reason, sizeof record->reason, "%s %s: %s", o->name,
                     o->checks[c].name, o->checks[c].note);
        }
    }
    for (int l = 0; l < record->level_count; l++) {
        const gg_level_record *level = &record->levels[l];
        if (gg_verdict_worse(worst, level->verdict) == worst) continue;
        worst = level->verdict;
        snprintf(record->reason, sizeof record->reason, "level %s: %s", level->name,
                 level->note);
    }
    if (checks == 0) {
        worst = GG_NOT_VERIFIED;
        if (record->reason[0] == '\0')
            snprintf(record->reason, sizeof record->reason, "nothing was compared");
    }
    record->verdict = worst;
}
