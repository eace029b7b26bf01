/* SPDX-License-Identifier: BSD-3-Clause */
/* See text.h. */
#include "tools/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

/* Returns the number of bytes of the UTF-8 character at `text`, or 0 if it is invalid or must not
 * be printed. */
static size_t character(const unsigned char *text)
{
    const size_t bytes = text[0] < 0x80   ? 1
                         : text[0] < 0xc2 ? 0
                         : text[0] < 0xe0 ? 2
                         : text[0] < 0xf0 ? 3
                         : text[0] < 0xf5 ? 4
                                          : 0;
    uint32_t code = 1 == bytes ? text[0] : text[0] & (0xffu >> (bytes + 1));
    for (size_t b = 1; b < bytes; ++b) { /* stops at the terminating 0 */
        if (0x80 != (text[b] & 0xc0)) {
            return 0;
        }
        code = code << 6 | (text[b] & 0x3f);
    }
    const bool control =
        code < 0x20 || (code >= 0x7f && code < 0xa0) || 0x2028 == code || 0x2029 == code;
    const bool direction = 0x200e == code || 0x200f == code || (code >= 0x202a && code <= 0x202e) ||
                           (code >= 0x2066 && code <= 0x2069);
    const bool none = (3 == bytes && code < 0x800) || (code >= 0xd800 && code < 0xe000) ||
                      (4 == bytes && code < 0x10000) || code > 0x10ffff;
    return control || direction || none ? 0 : bytes;
}

char *text_printable(const char *text, size_t most)
{
    static const char dots[] = "...";
    char *copy = tool_alloc(strlen(text) + sizeof(dots), 1);
    size_t to = 0, columns = 0, cut = 0; /* cut: position of the dots if the text is too long */
    for (size_t from = 0; '\0' != text[from]; ++columns) {
        if (columns == most) {
            memcpy(copy + cut, dots, sizeof(dots));
            return copy;
        }
        if (columns == most - 3) {
            cut = to;
        }
        const size_t bytes = character((const unsigned char *)text + from);
        if (0 == bytes) {
            copy[to++] = '?';
            ++from;
        } else {
            memcpy(copy + to, text + from, bytes);
            to += bytes;
            from += bytes;
        }
    }
    copy[to] = '\0';
    return copy;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; '\0' != *text; ++text) {
        columns += 0x80 != (*text & 0xc0); /* all bytes except continuation bytes */
    }
    return columns;
}

void text_wrap(FILE *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;
    while ('\0' != *text) {
        const size_t blanks = strspn(text, " "), letters = strcspn(text + blanks, " ");
        char *word = tool_alloc(letters + 1, 1);
        memcpy(word, text + blanks, letters);
        const size_t columns = text_columns(word);
        if (column > indent && column + 1 + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        column += (size_t)fprintf(out, "%s", column > indent ? " " : "") + columns;
        fputs(word, out);
        free(word);
        text += blanks + letters;
    }
    fputc('\n', out);
}

enum { FIELD_INDENT = 13, FIELD_COLUMNS = 92 };

FILE *text_field_begin(struct text_field *field)
{
    field->file = open_memstream(&field->text, &field->bytes);
    if (NULL == field->file) {
        tool_no_memory();
    }
    return field->file;
}

void text_field_end(struct text_field *field, const char *label)
{
    if (0 != fclose(field->file)) {
        tool_no_memory();
    }
    printf("  %-*s", FIELD_INDENT - 2, label);
    text_wrap(stdout, field->text, FIELD_INDENT, FIELD_COLUMNS);
    free(field->text);
}

void text_time(FILE *out, uint64_t ms)
{
    const uint64_t seconds = ms / 1000, minutes = seconds / 60;
    if (seconds < 100) {
        fprintf(out, "%.1f s", (double)ms / 1000);
    } else if (minutes < 100) {
        fprintf(out, "%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
    } else {
        fprintf(out, "%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
    }
}
