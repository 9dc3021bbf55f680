/* SPDX-License-Identifier: Apache-2.0
 * The claims as a table, and those that depend on the family as a matrix of families by
 * outputs. */
#include <string.h>

#include "reports/claims.h"
#include "reports/markup.h"

static const char *class_of(gg_claim_verdict verdict)
{
    return verdict == GG_CLAIM_REPRODUCED   ? "passed"
           : verdict == GG_CLAIM_REFUTED    ? "failed"
           : verdict == GG_CLAIM_UNRESOLVED ? "open"
                                            : "none";
}

static bool same_claim(const gg_claims *claims, int a, int b)
{
    return b < claims->count && claims->rows[a].claim == claims->rows[b].claim;
}

static void subject(const gg_claim_row *row, FILE *out)
{
    if (row->output[0]) {
        fputs("<code>", out);
        gg_markup(out, row->output);
        fputs("</code>", out);
    }
    if (row->against[0]) gg_markup_format(out, " against %s", row->against);
}

/* The claim itself, once, beside all its lines. */
static void text(const gg_claims *claims, int first, FILE *out)
{
    int lines = 0;
    for (int g = first; same_claim(claims, first, g); g = gg_claims_group(claims, g)) lines++;
    fprintf(out, "<td rowspan=\"%d\">", lines);
    gg_markup(out, claims->rows[first].claim->text);
    fputs("<br><span class=\"soft\">", out);
    gg_markup(out, claims->rows[first].claim->source);
    fputs("</span></td>", out);
}

static void line(const gg_claims *claims, int first, FILE *out)
{
    const gg_claim_row *row = &claims->rows[first];
    char headline[64];
    gg_claim_verdict verdict = gg_claims_headline(claims, first, headline);
    fputs("<tr>", out);
    if (first == 0 || !same_claim(claims, first - 1, first)) text(claims, first, out);
    fputs("<td class=\"of\">", out);
    subject(row, out);
    fputs("</td><td class=\"n\">", out);
    gg_markup(out, row->value);
    fputs("</td><td class=\"n\">", out);
    gg_markup(out, row->interval);
    fprintf(out, "</td><td><span class=\"tag %s\">%s</span></td><td class=\"soft\">",
            class_of(verdict), headline);
    gg_markup(out, row->basis);
    fputs("</td></tr>\n", out);
}

static void cell(const gg_claims *claims, int group, const char *family, FILE *out)
{
    const gg_claim_row *row = NULL;
    for (int i = group; i < gg_claims_group(claims, group); i++)
        if (strcmp(claims->rows[i].family, family) == 0) row = &claims->rows[i];
    if (row == NULL) {
        fputs("<td><span class=\"none\">\xe2\x80\x93</span></td>", out);
        return;
    }
    fprintf(out, "<td><span class=\"%s\">%s ", class_of(row->verdict),
            row->verdict == GG_CLAIM_REPRODUCED ? "\xe2\x9c\x93"
            : row->verdict == GG_CLAIM_REFUTED  ? "\xe2\x9c\x97"
                                                : "?");
    gg_markup(out, row->value);
    fputs("<small>", out);
    gg_markup(out, row->interval[0] ? row->interval : row->basis);
    fputs("</small></span></td>", out);
}

/* Families by groups of the claim that begins at `first`. */
static void matrix(const gg_claims *claims, int first, FILE *out)
{
    fputs("<h3>", out);
    gg_markup(out, claims->rows[first].claim->text);
    fputs("</h3>\n<div class=\"wide\"><table class=\"matrix\"><tr><th></th>", out);
    for (int g = first; same_claim(claims, first, g); g = gg_claims_group(claims, g)) {
        fputs("<th>", out);
        subject(&claims->rows[g], out);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (int f = first; f < gg_claims_group(claims, first); f++) {
        const char *family = claims->rows[f].family;
        fputs("<tr><th>", out);
        gg_markup(out, family[0] ? family : "all");
        fputs("</th>", out);
        for (int g = first; same_claim(claims, first, g); g = gg_claims_group(claims, g))
            cell(claims, g, family, out);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* A claim of which nothing was measured. */
static bool unmeasured(const gg_claims *claims, int first)
{
    for (int i = first; same_claim(claims, first, i); i++)
        if (claims->rows[i].verdict != GG_CLAIM_UNMEASURED || claims->rows[i].value[0])
            return false;
    return true;
}

/* The claims of which something was measured, or the others; how many. */
static int table(const gg_claims *claims, bool open, FILE *out)
{
    int count = 0;
    for (int g = 0, next; g < claims->count; g = next) {
        next = g;
        while (same_claim(claims, g, next)) next = gg_claims_group(claims, next);
        if (unmeasured(claims, g) == open) continue;
        if (out != NULL && count == 0)
            fputs("<div class=\"wide\"><table class=\"stack claims\"><tr><th>claim</th>"
                  "<th>of</th><th class=\"n\">measured</th><th class=\"n\">95 % interval</th>"
                  "<th>verdict</th><th>basis</th></tr>\n", out);
        count++;
        for (int i = g; out != NULL && i < next; i = gg_claims_group(claims, i))
            line(claims, i, out);
    }
    if (out != NULL && count > 0) fputs("</table></div>\n", out);
    return count;
}

void gg_html_claims(const gg_claims *claims, FILE *out)
{
    if (claims->count == 0) return;
    int closed = table(claims, false, NULL);
    fputs("<h2>Claims</h2>\n<p class=\"soft\">What is published, held against this run. "
          "Reproduced: the whole interval keeps the claimed bound; not reproduced: none of it "
          "does; not resolved: the bound lies in it.</p>\n", out);
    table(claims, true, out);
    for (int g = 0; g < claims->count;) {
        int first = g;
        if (gg_claims_group(claims, g) - g > 2) matrix(claims, g, out);
        while (same_claim(claims, first, g)) g = gg_claims_group(claims, g);
    }
    if (closed == 0) return;
    fprintf(out, "<details><summary>%d claims not measured here</summary>", closed);
    table(claims, false, out);
    fputs("</details>\n", out);
}
