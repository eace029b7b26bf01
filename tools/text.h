/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for terminals. The reader of report files (report_file.c) converts all texts with it, and
 * the printers format their output with it. The result is UTF-8 without control characters, so that
 * a file cannot control the terminal, and a message stays on one line.
 */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns a printable copy, which the caller frees. Control characters, characters that change the
 * direction of writing, and bytes that are not UTF-8 become '?'. The copy has at most `most`
 * characters (at least 3), and ends in "..." if the text is longer. */
char *text_printable(const char *text, size_t most);

/* Returns the number of columns, that is of characters, of a printable text. */
size_t text_columns(const char *text);

/* Prints a text whose lines begin in column `indent` and end before column `width`, broken between
 * words. The last line is terminated. A word that is longer than a line extends beyond it. */
void text_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* Prints a duration: seconds, minutes and seconds, or hours and minutes. */
void text_time(FILE *out, uint64_t ms);

/* A paragraph with a label, such as " ports ...". Text that is written to `file` between the two
 * calls is collected, then wrapped to standard output, and freed. */
struct text_field {
    FILE *file;
    char *text;
    size_t bytes;
};
FILE *text_field_begin(struct text_field *field);
void text_field_end(struct text_field *field, const char *label);

#endif
