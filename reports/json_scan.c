/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/json_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "reports/json_out.h"

typedef enum where { IN_DOCUMENT, IN_RESULTS, IN_TESTS, ELSEWHERE } where;

typedef struct text_buffer {
    char *text;
    size_t length, room, most;
} text_buffer;

typedef struct scan {
    const char *name;
    gzFile gz;                   /* NULL: all text is in `buffer` */
    unsigned char *chunk;
    const unsigned char *buffer;
    size_t at, filled;
    int64_t line, column, total;
    text_buffer rest, test, *capture; /* capture NULL: only checked */
    gg_scan_test on_test;
    void *context;
    int tests;
    bool tests_seen;
    gg_status broken;            /* why peek() gave FAULT */
} scan;

enum { CHUNK = 1 << 16, END_OF_TEXT = -1, FAULT = -2 };

static gg_status fault(scan *s, const char *what)
{
    return gg_fail(GG_BAD_INPUT, "%s: line %" PRId64 " column %" PRId64 ": %s", s->name,
                   s->line, s->column, what);
}

static gg_status fill(scan *s)
{
    s->at = s->filled = 0;
    errno = 0;
    int got = gzread(s->gz, s->chunk, CHUNK);
    int code = Z_OK;
    const char *text = gzerror(s->gz, &code);
    if (got < 0 && code == Z_ERRNO)
        return gg_fail(GG_IO, "%s: cannot be read: %s; give a report file", s->name,
                       strerror(errno));
    if (got < 0 || code == Z_BUF_ERROR)
        return gg_fail(GG_BAD_INPUT, "%s: damaged gzip data (%s); fetch the file again",
                       s->name, got < 0 ? text : "it ends early");
    s->filled = (size_t)got;
    s->total += got;
    if (s->total > GG_SCAN_MAX_BYTES)
        return gg_fail(GG_BAD_INPUT, "%s: longer than %" PRId64 " bytes, not a report",
                       s->name, (int64_t)GG_SCAN_MAX_BYTES);
    return GG_OK;
}

/* The next byte without taking it: END_OF_TEXT, or FAULT with the message set. */
static int peek(scan *s)
{
    if (s->at < s->filled) return s->buffer[s->at];
    if (!s->gz) return END_OF_TEXT;
    if (s->broken != GG_OK) return FAULT;
    s->broken = fill(s);
    if (s->broken != GG_OK) return FAULT;
    return s->filled ? s->buffer[0] : END_OF_TEXT;
}

static gg_status keep(scan *s, text_buffer *buffer, char c)
{
    if (buffer->length >= buffer->most)
        return fault(s, buffer == &s->test ? "a test of more than 1 MiB"
                                           : "more than 64 MiB beside the tests");
    if (buffer->length + 1 >= buffer->room) {
        size_t room = buffer->room ? 2 * buffer->room : 4096;
        char *text = realloc(buffer->text, room);
        if (!text)
            return gg_fail(GG_NO_MEMORY, "%s: no memory for %zu bytes", s->name, room);
        buffer->text = text;
        buffer->room = room;
    }
    buffer->text[buffer->length++] = c;
    buffer->text[buffer->length] = 0;
    return GG_OK;
}

/* Takes the byte that peek() gave; blanks between values are not kept. */
static gg_status take(scan *s, bool blank)
{
    unsigned char c = s->buffer[s->at++];
    s->column++;
    if (c == '\n') s->line++, s->column = 0;
    return s->capture && !blank ? keep(s, s->capture, (char)c) : GG_OK;
}

static gg_status unexpected(scan *s, int c, const char *what)
{
    if (c == FAULT) return s->broken;
    return fault(s, c == END_OF_TEXT ? "the text ends early" : what);
}

static gg_status blanks(scan *s)
{
    for (;;) {
        int c = peek(s);
        if (c == FAULT) return s->broken;
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return GG_OK;
        GG_TRY(take(s, true));
    }
}

static gg_status expect(scan *s, char wanted, const char *what)
{
    int c = peek(s);
    return c == wanted ? take(s, false) : unexpected(s, c, what);
}

static gg_status four_digits(scan *s, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(s);
        int digit = c >= '0' && c <= '9' ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return unexpected(s, c, "expected four hexadecimal digits");
        *code = *code << 4 | (unsigned)digit;
        GG_TRY(take(s, false));
    }
    return GG_OK;
}

static gg_status escape(scan *s)
{
    int c = peek(s);
    if (c <= 0 || !strchr("\"\\/bfnrtu", c)) return unexpected(s, c, "unknown escape");
    GG_TRY(take(s, false));
    if (c != 'u') return GG_OK;
    unsigned code, low;
    GG_TRY(four_digits(s, &code));
    if (code == 0) return fault(s, "a NUL character in a text");
    if (code >= 0xdc00 && code <= 0xdfff) return fault(s, "half of a surrogate pair");
    if (code < 0xd800 || code > 0xdbff) return GG_OK;
    GG_TRY(expect(s, '\\', "half of a surrogate pair"));
    GG_TRY(expect(s, 'u', "half of a surrogate pair"));
    GG_TRY(four_digits(s, &low));
    return low >= 0xdc00 && low <= 0xdfff ? GG_OK
                                          : fault(s, "half of a surrogate pair");
}

/* Collects one character of up to four bytes and lets gg_utf8_length judge it. */
static gg_status wide_character(scan *s, int lead)
{
    char bytes[4];
    size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2, count = 0;
    while (count < wanted) {
        int c = peek(s);
        if (c < 0x80) return unexpected(s, c, "text that is not UTF-8");
        bytes[count++] = (char)c;
        GG_TRY(take(s, false));
    }
    return gg_utf8_length(bytes, count) == count ? GG_OK
                                                 : fault(s, "text that is not UTF-8");
}

/* A text; `key` (GG_SCAN_MAX_KEY + 1 bytes, or NULL) receives it and admits no escapes.
 */
static gg_status string(scan *s, char *key)
{
    size_t length = 0;
    GG_TRY(expect(s, '"', key ? "expected a key in quotes" : "expected a text"));
    for (;;) {
        int c = peek(s);
        if (c < 0) return unexpected(s, c, "");
        if (c < 0x20) return fault(s, "a control character in a text");
        if (c == '"') break;
        if (key && (c == '\\' || c >= 0x80 || length == GG_SCAN_MAX_KEY))
            return fault(s, "a key that is long, escaped or not ASCII");
        if (key) key[length++] = (char)c;
        if (c >= 0x80) {
            GG_TRY(wide_character(s, c));
            continue;
        }
        GG_TRY(take(s, false));
        if (c == '\\') GG_TRY(escape(s));
    }
    if (key) key[length] = 0;
    return take(s, false);
}

static gg_status digits(scan *s, int *length)
{
    int c = peek(s);
    if (c < '0' || c > '9') return unexpected(s, c, "expected a digit");
    for (; c >= '0' && c <= '9'; c = peek(s)) {
        if (++*length > GG_SCAN_MAX_NUMBER) return fault(s, "a number of many digits");
        GG_TRY(take(s, false));
    }
    return c == FAULT ? s->broken : GG_OK;
}

static gg_status number(scan *s)
{
    int length = 0;
    if (peek(s) == '-') GG_TRY(take(s, false));
    if (peek(s) == '0') GG_TRY(take(s, false));
    else GG_TRY(digits(s, &length));
    if (peek(s) == '.') {
        GG_TRY(take(s, false));
        GG_TRY(digits(s, &length));
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        GG_TRY(take(s, false));
        if (peek(s) == '+' || peek(s) == '-') GG_TRY(take(s, false));
        GG_TRY(digits(s, &length));
    }
    return peek(s) == FAULT ? s->broken : GG_OK;
}

static gg_status word(scan *s, const char *text)
{
    for (; *text; text++) GG_TRY(expect(s, *text, "expected a value"));
    return GG_OK;
}

static gg_status value(scan *s, where here, int depth);

static gg_status object(scan *s, where here, int depth)
{
    char key[GG_SCAN_MAX_KEY + 1];
    GG_TRY(take(s, false));
    GG_TRY(blanks(s));
    if (peek(s) == '}') return take(s, false);
    for (;;) {
        GG_TRY(string(s, key));
        GG_TRY(blanks(s));
        GG_TRY(expect(s, ':', "expected ':'"));
        where inner = ELSEWHERE;
        if (here == IN_DOCUMENT && strcmp(key, "results") == 0) inner = IN_RESULTS;
        if (here == IN_RESULTS && strcmp(key, "tests") == 0) inner = IN_TESTS;
        GG_TRY(value(s, inner, depth));
        int c = peek(s);
        if (c == '}') return take(s, false);
        GG_TRY(expect(s, ',', "expected ',' or '}'"));
        GG_TRY(blanks(s));
    }
}

static gg_status element(scan *s, where here, int depth)
{
    if (here != IN_TESTS || !s->on_test) return value(s, ELSEWHERE, depth);
    s->test.length = 0;
    s->capture = &s->test;
    GG_TRY(value(s, ELSEWHERE, depth));
    s->capture = &s->rest;
    return s->on_test(s->context, s->tests++, s->test.text, s->test.length);
}

static gg_status array(scan *s, where here, int depth)
{
    if (here == IN_TESTS && s->tests_seen) return fault(s, "results.tests comes twice");
    if (here == IN_TESTS) s->tests_seen = true;
    GG_TRY(take(s, false));
    GG_TRY(blanks(s));
    if (peek(s) == ']') return take(s, false);
    for (;;) {
        GG_TRY(element(s, here, depth));
        int c = peek(s);
        if (c == ']') return take(s, false);
        if (c != ',') return unexpected(s, c, "expected ',' or ']'");
        GG_TRY(take(s, here == IN_TESTS && s->on_test)); /* the list stays empty */
    }
}

/* One value and the blanks around it. */
static gg_status value(scan *s, where here, int depth)
{
    GG_TRY(blanks(s));
    if (depth >= GG_SCAN_MAX_NESTING) return fault(s, "nested too deep for a report");
    int c = peek(s);
    if (c == '{') GG_TRY(object(s, here, depth + 1));
    else if (c == '[') GG_TRY(array(s, here, depth + 1));
    else if (c == '"') GG_TRY(string(s, NULL));
    else if (c == '-' || (c >= '0' && c <= '9')) GG_TRY(number(s));
    else if (c == 't') GG_TRY(word(s, "true"));
    else if (c == 'f') GG_TRY(word(s, "false"));
    else if (c == 'n') GG_TRY(word(s, "null"));
    else return unexpected(s, c, "expected a value");
    return blanks(s);
}

static gg_status document(scan *s)
{
    GG_TRY(value(s, IN_DOCUMENT, 0));
    int c = peek(s);
    return c == END_OF_TEXT ? GG_OK
                            : unexpected(s, c, "text after the end of the report");
}

gg_status gg_scan_file(const char *path, gg_scan_test on_test, void *context,
                       char **rest, size_t *rest_length)
{
    scan s = {.name = path, .line = 1, .on_test = on_test, .context = context};
    s.rest.most = GG_SCAN_MAX_REST;
    s.test.most = GG_SCAN_MAX_TEST;
    s.capture = &s.rest;
    errno = 0;
    s.gz = gzopen(path, "rb");
    if (!s.gz && (errno == 0 || errno == ENOMEM))
        return gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path);
    if (!s.gz)
        return gg_fail(GG_IO, "%s: cannot be opened: %s; check the path", path,
                       strerror(errno));
    s.chunk = malloc(CHUNK);
    s.buffer = s.chunk;
    gg_status status = s.chunk ? document(&s)
                               : gg_fail(GG_NO_MEMORY, "%s: no memory", path);
    gzclose_r(s.gz);
    free(s.chunk);
    free(s.test.text);
    if (status != GG_OK) {
        free(s.rest.text);
        return status;
    }
    *rest = s.rest.text;
    *rest_length = s.rest.length;
    return GG_OK;
}

gg_status gg_scan_text(const char *name, int64_t line, const char *text, size_t length)
{
    scan s = {.name = name, .line = line, .filled = length};
    s.buffer = (const unsigned char *)text;
    return document(&s);
}
