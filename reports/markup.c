/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/markup.h"

#include <stdarg.h>
#include <string.h>

#include "reports/json_out.h"

/* What XML 1.0 has no way to say. */
static bool forbidden(const unsigned char *c, size_t bytes)
{
    if (bytes == 0) return true;
    if (bytes == 1) return (*c < ' ' && *c != '\n') || *c == 0x7f;
    if (bytes == 2) return c[0] == 0xc2 && c[1] < 0xa0;
    return bytes == 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe;
}

void gg_markup_part(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t bytes = gg_utf8_length(text + i, length - i);
        if (forbidden((const unsigned char *)text + i, bytes)) fputc('?', out);
        else if (text[i] == '&') fputs("&amp;", out);
        else if (text[i] == '<') fputs("&lt;", out);
        else if (text[i] == '>') fputs("&gt;", out);
        else if (text[i] == '"') fputs("&quot;", out);
        else if (text[i] == '\'') fputs("&#39;", out);
        else fwrite(text + i, 1, bytes, out);
        i += bytes ? bytes : 1;
    }
}

void gg_markup(FILE *out, const char *text)
{
    gg_markup_part(out, text, strlen(text));
}

void gg_markup_format(FILE *out, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gg_markup(out, text);
}
