/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/safetensors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(safetensors, .timeout = 60);

/* A file of `header` and `data` bytes of zeros, in memory that ends where it ends. */
static uint8_t *make(const char *header, size_t data, size_t *size)
{
    size_t length = strlen(header);
    *size = 8 + length + data;
    uint8_t *bytes = calloc(1, *size);
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    return bytes;
}

static void refuse(const char *header, size_t data, const char *word)
{
    size_t size;
    gg_safetensors file;
    uint8_t *bytes = make(header, data, &size);
    cr_expect_eq(gg_safetensors_parse("f", bytes, size, &file), GG_BAD_INPUT, "%s", header);
    cr_expect(strstr(gg_message(), word) != NULL, "%s: %s", header, gg_message());
    cr_expect(strncmp(gg_message(), "f: ", 3) == 0, "%s", gg_message());
    cr_expect_null(file.tensors);
    free(bytes);
}

#define ONE(type, shape, from, to)                                                      \
    "\"q\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"
#define TWO(from, to)                                                                   \
    "\"k\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[" from "," to "]}"

Test(safetensors, tensors_and_notes_are_found)
{
    size_t size;
    gg_safetensors file;
    uint8_t *bytes = make("{\"__metadata__\":{\"case\":\"a \\\"b\\\"\"}," TWO("8", "12") ","
                          ONE("F32", "[1,2]", "0", "8") "}   ", 12, &size);
    bytes[size - 12] = 1;
    cr_assert_eq(gg_safetensors_parse("f", bytes, size, &file), GG_OK, "%s", gg_message());
    cr_assert_eq(file.count, 2);
    const gg_safetensor *q = gg_safetensors_find(&file, "q");
    cr_assert_str_eq(q->type, "F32");
    cr_assert_eq(q->tensor.dtype, GG_F32);
    cr_assert_eq(q->tensor.ndim, 2);
    cr_assert_eq(q->tensor.shape[1], 2);
    cr_assert_eq(q->bytes, 8);
    cr_assert_eq(*(const uint8_t *)q->tensor.data, 1);
    cr_assert_null(gg_safetensors_find(&file, "v"));
    cr_assert_str_eq(gg_safetensors_note(&file, "case"), "a \"b\"");
    cr_assert_null(gg_safetensors_note(&file, "else"));
    gg_safetensors_free(&file);
    free(bytes);
}

Test(safetensors, a_foreign_type_is_read_and_named)
{
    size_t size;
    gg_safetensors file;
    uint8_t *bytes = make("{" ONE("I64", "[]", "0", "8") "}", 8, &size);
    cr_assert_eq(gg_safetensors_parse("f", bytes, size, &file), GG_OK, "%s", gg_message());
    cr_assert_str_eq(file.tensors[0].type, "I64");
    cr_assert_eq(file.tensors[0].tensor.dtype, GG_DTYPES);
    gg_safetensors_free(&file);
    free(bytes);
}

Test(safetensors, hostile_headers_are_refused)
{
    refuse("", 0, "no safetensors file");
    refuse("{}", 0, "no tensor");
    refuse("[]", 8, "does not begin with {");
    refuse(" {" ONE("F32", "[1]", "0", "4") "}", 4, "does not begin with {");
    refuse("{" ONE("F32", "[1]", "0", "4"), 4, "ends early");
    refuse("{" ONE("F32", "[1]", "0", "4") "} x", 4, "after the end");
    refuse("{" ONE("F32", "[1]", "0", "4") "," ONE("F32", "[1]", "4", "8") "}", 8, "twice");
    refuse("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}," ONE("F32", "[1]", "0", "4") "}", 4,
           "twice");
    refuse("{\"__metadata__\":{\"a\":1}," ONE("F32", "[1]", "0", "4") "}", 4, "a text");
    refuse("{\"__metadata__\":[]," ONE("F32", "[1]", "0", "4") "}", 4, "an object");
    refuse("{\"q\xff\":1}", 4, "not ASCII");
    refuse("{\"__metadata__\":{\"a\":\"\xc0\x80\"}}", 4, "not UTF-8");
    refuse("{\"q\":1}", 4, "an object");
    refuse("{\"q\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets");
    refuse("{\"q\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
           4, "twice");
    refuse("{\"q\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, "x");
}

Test(safetensors, wrong_shapes_and_places_are_refused)
{
    refuse("{" ONE("F31", "[1]", "0", "4") "}", 4, "a type such as");
    refuse("{" ONE("F32", "[0]", "0", "0") "}", 0, "no elements");
    refuse("{" ONE("F32", "[-1]", "0", "4") "}", 4, "whole numbers");
    refuse("{" ONE("F32", "[1.5]", "0", "6") "}", 6, "whole numbers");
    refuse("{" ONE("F32", "[1,1,1,1,1,1,1]", "0", "4") "}", 4, "a list of 0 to 6");
    refuse("{" ONE("F32", "[4294967296,4294967296]", "0", "4") "}", 4, "larger than any file");
    refuse("{" ONE("F32", "[1e300]", "0", "4") "}", 4, "whole numbers");
    refuse("{" ONE("F32", "[1]", "4", "0") "}", 4, "in order");
    refuse("{" ONE("F32", "[1]", "-4", "0") "}", 4, "whole numbers in order");
    refuse("{" ONE("F32", "[1]", "0", "4") "}", 3, "truncated");
    refuse("{" ONE("F32", "[2]", "0", "4") "}", 4, "ask for 8");
    refuse("{" ONE("F32", "[1]", "0", "4") "}", 5, "belong to none");
    refuse("{" ONE("F32", "[1]", "4", "8") "}", 8, "leaves a gap");
    refuse("{" ONE("F32", "[1]", "0", "4") "," TWO("2", "6") "}", 6, "overlaps");
    refuse("{" ONE("F32", "[1]", "0", "4") "," TWO("6", "10") "}", 10, "leaves a gap");
    refuse("{" ONE("F32", "[1]", "0", "4") "," TWO("0", "4") "}", 4, "overlaps");
}

Test(safetensors, huge_lengths_and_truncations_are_refused)
{
    size_t size;
    gg_safetensors file;
    uint8_t *bytes = make("{" ONE("F32", "[1]", "0", "4") "}", 4, &size);
    for (size_t cut = 0; cut < size; cut++) { /* memory that ends there, for sanitizers */
        uint8_t *part = malloc(cut + (cut == 0));
        memcpy(part, bytes, cut);
        cr_assert_eq(gg_safetensors_parse("f", part, cut, &file), GG_BAD_INPUT, "%zu", cut);
        free(part);
    }
    memset(bytes, 0xff, 8);
    cr_assert_eq(gg_safetensors_parse("f", bytes, size, &file), GG_BAD_INPUT);
    cr_assert(strstr(gg_message(), "18446744073709551615") != NULL, "%s", gg_message());
    free(bytes);
}

Test(safetensors, a_bool_is_zero_or_one)
{
    size_t size;
    gg_safetensors file;
    uint8_t *bytes = make("{" ONE("BOOL", "[2]", "0", "2") "}", 2, &size);
    bytes[size - 1] = 1;
    cr_assert_eq(gg_safetensors_parse("f", bytes, size, &file), GG_OK);
    cr_assert_eq(file.tensors[0].tensor.dtype, GG_U8);
    gg_safetensors_free(&file);
    bytes[size - 1] = 2;
    cr_assert_eq(gg_safetensors_parse("f", bytes, size, &file), GG_BAD_INPUT);
    cr_assert(strstr(gg_message(), "element 1 is 2") != NULL, "%s", gg_message());
    free(bytes);
}

Test(safetensors, what_is_written_is_read_again)
{
    char path[64];
    gg_safetensors file;
    uint8_t mask[3] = {1, 0, 1};
    uint16_t q[6] = {1, 2, 3, 4, 5, 6};
    double wide[1] = {0.5};
    const gg_safetensor_out out[] = {
        {"mask", {mask, GG_U8, 1, {3}}}, {"q", {q, GG_BF16, 2, {2, 3}}},
        {"scale", {wide, GG_F64, 0, {0}}}};
    const char *const notes[] = {"case", "a/\"b\"", "operator", "none", NULL};
    snprintf(path, sizeof path, "/tmp/safetensors_test.%ld", (long)getpid());
    cr_assert_eq(gg_safetensors_write(path, out, 3, notes), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_safetensors_read(path, &file), GG_OK, "%s", gg_message());
    unlink(path);
    cr_assert_eq(file.count, 3);
    cr_assert_str_eq(file.tensors[0].name, "scale", "the widest comes first");
    cr_assert_eq((size_t)((uint8_t *)file.tensors[0].tensor.data - file.bytes) % 8, 0);
    for (int i = 0; i < 3; i++) {
        const gg_safetensor *t = gg_safetensors_find(&file, out[i].name);
        cr_assert_eq(t->tensor.dtype, out[i].tensor.dtype);
        cr_assert_eq(t->tensor.ndim, out[i].tensor.ndim);
        cr_assert_eq(t->bytes, gg_tensor_bytes(&out[i].tensor));
        cr_assert_arr_eq(t->tensor.data, out[i].tensor.data, t->bytes);
    }
    cr_assert_str_eq(gg_safetensors_note(&file, "case"), "a/\"b\"");
    gg_safetensors_free(&file);
    cr_assert_eq(gg_safetensors_read("/nonexistent/f", &file), GG_IO);
    cr_assert_eq(gg_safetensors_read("/dev/null", &file), GG_BAD_INPUT);
    cr_assert_eq(gg_safetensors_write("/nonexistent/f", out, 3, NULL), GG_IO);
}
