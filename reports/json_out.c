/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/json_out.h"

#include <inttypes.h>
#include <string.h>

#include "reports/exact.h"

static void put(gg_json_out *out, const char *text, size_t size)
{
    if (out->file) fwrite(text, 1, size, out->file);
    if (out->hash) XXH3_64bits_update(out->hash, text, size);
}

static void put_text(gg_json_out *out, const char *text)
{
    put(out, text, strlen(text));
}

static bool on_one_line(const gg_json_out *out)
{
    return out->line_depth && out->depth >= out->line_depth;
}

static void new_line(gg_json_out *out)
{
    put(out, "\n", 1);
    for (int i = 0; i < out->depth; i++) put(out, " ", 1);
}

/* Everything that stands before a value. */
static void begin(gg_json_out *out, const char *key, bool container)
{
    if (out->depth) {
        if (out->filled[out->depth]) put(out, ",", 1);
        if (!on_one_line(out) && (container || !out->packed)) new_line(out);
        else if (out->filled[out->depth]) put(out, " ", 1);
        out->filled[out->depth] = true;
    }
    if (key) {
        put(out, "\"", 1);
        put_text(out, key);
        put(out, "\": ", 3);
    }
}

void gg_out_open(gg_json_out *out, const char *key, char bracket)
{
    begin(out, key, true);
    put(out, &bracket, 1);
    out->depth++;
    out->filled[out->depth] = false;
    out->bracket[out->depth] = bracket == '{' ? '}' : ']';
}

void gg_out_open_line(gg_json_out *out, const char *key, char bracket)
{
    gg_out_open(out, key, bracket);
    if (!out->line_depth) out->line_depth = out->depth;
}

void gg_out_close(gg_json_out *out)
{
    char bracket = out->bracket[out->depth];
    bool filled = out->filled[out->depth], line = on_one_line(out);
    if (out->line_depth == out->depth) out->line_depth = 0;
    out->depth--;
    if (filled && !line && !out->packed) new_line(out);
    put(out, &bracket, 1);
}

size_t gg_utf8_length(const char *text, size_t size)
{
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (!size) return 0;
    unsigned char lead = (unsigned char)text[0];
    if (lead < 0x80) return 1;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > size) return 0;
    unsigned code = lead & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80) return 0;
        code = code << 6 | (next & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

void gg_out_text(gg_json_out *out, const char *key, const char *text, size_t size)
{
    begin(out, key, false);
    put(out, "\"", 1);
    size = strnlen(text, size);
    for (size_t i = 0; i < size;) {
        size_t length = gg_utf8_length(text + i, size - i);
        unsigned char c = (unsigned char)text[i];
        char escape[8] = {'\\', (char)c, 0};
        if (length == 0) put(out, "?", 1);
        else if (c == '"' || c == '\\') put(out, escape, 2);
        else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            put_text(out, escape);
        } else put(out, text + i, length);
        i += length ? length : 1;
    }
    put(out, "\"", 1);
}

void gg_out_name(gg_json_out *out, const char *key, const char *text)
{
    gg_out_text(out, key, text, strlen(text));
}

void gg_out_integer(gg_json_out *out, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    begin(out, key, false);
    put_text(out, text);
}

void gg_out_bool(gg_json_out *out, const char *key, bool value)
{
    begin(out, key, false);
    put_text(out, value ? "true" : "false");
}

void gg_out_decimal(gg_json_out *out, const char *key, double value)
{
    char text[GG_EXACT_SIZE];
    gg_decimal_format(value, text);
    begin(out, key, false);
    put_text(out, text);
}

void gg_out_precise(gg_json_out *out, const char *key, double value)
{
    char text[GG_EXACT_SIZE];
    gg_precise_format(value, text);
    begin(out, key, false);
    put_text(out, text);
}

void gg_out_exact(gg_json_out *out, const char *key, double value)
{
    char text[GG_EXACT_SIZE], beside[64];
    gg_exact_format(value, text);
    gg_out_name(out, key, text);
    snprintf(beside, sizeof beside, "%s_decimal", key);
    gg_out_decimal(out, beside, value);
}

void gg_out_digest(gg_json_out *out, const char *key, uint64_t value)
{
    char text[GG_DIGEST_SIZE];
    gg_digest_format(value, text);
    gg_out_name(out, key, text);
}
