/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "harness/why.h"

static int uses(const char *shape, char symbol)
{
    int count = 0;
    for (; *shape != '\0'; shape++) count += *shape == symbol;
    return count;
}

static bool has_square(const gg_operator *op, char symbol)
{
    for (int side = 0; side < 2; side++)
        for (const gg_tensor_decl *t = side ? op->outputs : op->inputs; t->name; t++)
            if (uses(t->shape, symbol) > 1) return true;
    return false;
}

void gg_axis_letters(const gg_operator *op, const gg_tensor_decl *decl,
                     char letters[GG_MAX_DIMS + 1])
{
    int count = 0;
    for (const char *s = decl->shape; *s != '\0' && count < GG_MAX_DIMS; s++) {
        int before = 0;
        for (const char *t = decl->shape; t < s; t++) before += *t == *s;
        letters[count++] =
            (char)(has_square(op, *s) ? 'i' + before : tolower((unsigned char)*s));
    }
    letters[count] = '\0';
}

/* "b=0 r=3 h=1 i=17 d=5" */
static void print_index(const gg_why *why, FILE *out)
{
    char letters[GG_MAX_DIMS + 1];
    int64_t index[GG_MAX_DIMS] = {0}, flat = why->element;
    gg_axis_letters(why->op, &why->op->outputs[why->output], letters);
    const char *axes = why->has_terms && why->terms.axes ? why->terms.axes : letters;
    for (int i = why->tensor.ndim - 1; i >= 0; i--) {
        index[i] = flat % why->tensor.shape[i];
        flat /= why->tensor.shape[i];
    }
    for (int i = 0; i < why->tensor.ndim; i++)
        fprintf(out, " %c=%" PRId64, axes[i], index[i]);
}

static void print_wide(FILE *out, const char *name, double value)
{
    fprintf(out, "  %-10s %-24.17g %a", name, value, value);
}

static void print_kernel(FILE *out, const char *name, uint32_t bits, gg_dtype dtype)
{
    double value = gg_value_at(&bits, dtype, 0);
    fprintf(out, "  %-10s %-24.9g %-24a bits 0x%0*" PRIx32 " (%s)\n", name, value, value,
            dtype == GG_BF16 ? 4 : 8, bits, gg_dtype_name(dtype));
}

double gg_why_gauge(const gg_why *why)
{
    double half = gg_half_ulp(why->point.value, why->tensor.dtype);
    return fabs(why->value - why->point.value) / (why->allowance + half + GG_UNDERFLOW);
}

static void print_values(const gg_why *why, FILE *out)
{
    double ulp = 2 * gg_half_ulp(why->point.value, why->tensor.dtype);
    double error = why->value - why->point.value;
    print_kernel(out, "kernel", why->bits, why->tensor.dtype);
    if (why->repeated) print_kernel(out, "again", why->other_bits, why->tensor.dtype);
    print_wide(out, "FP64", why->truth);
    fprintf(out, "\n");
    print_wide(out, "MPFR", why->point.value);
    fprintf(out, "%s at %d bits\n", why->point.agreed ? "  agreed" : "  NOT AGREED",
            why->point.precision_bits);
    if (gg_class(error) != 0) {
        fprintf(out, "  error      not a number to measure\n");
        return;
    }
    fprintf(out,
            "  error      %-24.9g %.3g ulp of %s; %.3g of what is allowed, "
            "%.3g + half an ulp\n",
            error, error / ulp, gg_dtype_name(why->tensor.dtype), gg_why_gauge(why),
            why->allowance);
}

static void print_term(const gg_terms *terms, const gg_term *term, FILE *out)
{
    char index[32];
    snprintf(index, sizeof index, "%c=%" PRId64, terms->letter, term->index);
    fprintf(out, "  %12s%18.9g", index, term->value);
    if (terms->sum_abs > 0)
        fprintf(out, "%8.2f %%", 100 * fabs(term->value) / terms->sum_abs);
    else
        fprintf(out, "%10s", "-");
    for (int f = 0; f < GG_TERM_FACTORS && terms->factor_name[f]; f++)
        fprintf(out, "%16.7g", term->factor[f]);
    fprintf(out, "\n");
}

static void print_terms(const gg_why *why, FILE *out)
{
    const gg_terms *terms = &why->terms;
    double rest = terms->sum, rest_abs = terms->sum_abs;
    fprintf(out, "  sum over %c of %s: %" PRId64 " term%s\n", terms->letter, terms->formula,
            terms->total, terms->total == 1 ? "" : "s");
    if (terms->total == 0) return;
    fprintf(out, "  %12s%18s%10s", "largest", "term", "share");
    for (int f = 0; f < GG_TERM_FACTORS && terms->factor_name[f]; f++)
        fprintf(out, "%16s", terms->factor_name[f]);
    fprintf(out, "\n");
    for (int k = 0; k < terms->count; k++) {
        print_term(terms, &terms->largest[k], out);
        rest -= terms->largest[k].value;
        rest_abs -= fabs(terms->largest[k].value);
    }
    if (terms->total > terms->count && terms->sum_abs > 0)
        fprintf(out, "  %7" PRId64 " more%18.9g%8.2f %%\n", terms->total - terms->count,
                rest, 100 * fmax(rest_abs, 0) / terms->sum_abs);
    fprintf(out, "  sum|terms| %.9g, |sum| %.9g", terms->sum_abs, fabs(why->point.value));
    if (why->point.value != 0)
        fprintf(out, ": cancellation factor %.3g", terms->sum_abs / fabs(why->point.value));
    fprintf(out, "\n");
}

/* Appends to a line of findings parted by "; ". */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    if (used > 0 && used + 2 < size)
        used += (size_t)snprintf(text + used, size - used, "; ");
    va_list args;
    va_start(args, format);
    if (used < size) vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* An error far beyond rounding that is one of the terms: left out, or added twice. */
static void find_lost_term(const gg_why *why, char *text, size_t size)
{
    const gg_terms *terms = &why->terms;
    double error = why->value - why->point.value, gauge = gg_why_gauge(why);
    if (!(gauge > 8)) return;
    double unit = fabs(error) / gauge; /* what rounding may do */
    for (int k = 0; k < terms->count; k++) {
        double term = terms->largest[k].value;
        bool lost = fabs(error + term) <= unit, twice = fabs(error - term) <= unit;
        if (!lost && !twice) continue;
        append(text, size, "the error is the term %c=%" PRId64 ", %s", terms->letter,
               terms->largest[k].index, lost ? "left out" : "added twice");
        return;
    }
}

/* How the absolute terms are distributed. */
static void describe_spread(const gg_terms *terms, char *text, size_t size)
{
    double share = fabs(terms->largest[0].value) / terms->sum_abs, top = 0;
    int most = 0;
    while (most < terms->count && top < 0.9 * terms->sum_abs)
        top += fabs(terms->largest[most++].value);
    if (terms->total == 1)
        append(text, size, "there is one term");
    else if (share >= 0.5)
        append(text, size, "dominated by one term, %c=%" PRId64 ": %.0f %%", terms->letter,
               terms->largest[0].index, 100 * share);
    else if (top >= 0.9 * terms->sum_abs)
        append(text, size, "%d of %" PRId64 " terms make 90 %%", most, terms->total);
    else
        append(text, size, "spread over %" PRId64 " terms, the largest %.2g %%",
               terms->total, 100 * share);
}

void gg_why_reading(const gg_why *why, char *text, size_t size)
{
    const gg_terms *terms = &why->terms;
    double exact = why->point.value, factor = terms->sum_abs / fabs(exact);
    text[0] = '\0';
    if (gg_class(why->value) != gg_class(gg_round_to(exact, why->tensor.dtype)))
        append(text, size, "the kernel wrote %g where the truth is %g", why->value, exact);
    if (terms->total == 0) {
        append(text, size, "there is no term, all are masked: the element must be 0");
        return;
    }
    if (gg_class(terms->sum_abs) != 0) {
        append(text, size, "a term is not finite: %c=%" PRId64, terms->letter,
               terms->largest[0].index);
        return;
    }
    if (terms->sum_abs <= 0) {
        append(text, size, "every term is 0");
        return;
    }
    find_lost_term(why, text, size);
    if (exact == 0)
        append(text, size, "the terms cancel to 0");
    else if (factor >= 8)
        append(text, size, "the result is 1/%.0f of its terms: cancellation", factor);
    describe_spread(terms, text, size);
}

void gg_why_print(const gg_why *why, FILE *out)
{
    char text[400];
    if (!why->seen) {
        fprintf(out, "\nwhy: nothing was measured, so there is no element to look at\n");
        return;
    }
    fprintf(out, "\nwhy: %s at", why->op->outputs[why->output].name);
    print_index(why, out);
    fprintf(out, "  (%s)\n", why->cause);
    if (why->status != GG_OK) return;
    print_values(why, out);
    if (!why->has_terms) return;
    print_terms(why, out);
    gg_why_reading(why, text, sizeof text);
    fprintf(out, "  reading: %s\n", text);
}
