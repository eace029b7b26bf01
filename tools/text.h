/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text, made fit for a terminal: called by the reader (report_file.c) for what comes in from files
 * and by the printers for what goes out. Pure functions; what they return is UTF-8 without control
 * characters, so a file cannot steer the terminal, and a message is one line.
 */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A copy, to be freed. What cannot be printed is '?' there: control characters, characters that
 * turn the direction of writing, and bytes that are not UTF-8. It has at most `most` characters (at
 * least 3); a longer text ends in "...". */
char *text_printable(const char *text, size_t most);

/* Columns that a printable text takes: its characters. */
size_t text_columns(const char *text);

/* Print words up to column `width`; the text begins in column `indent`, and so does every further
 * line. Ends the line. A word that is longer than a line stands out. */
void text_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* How long something has lasted: seconds, minutes and seconds, or hours and minutes. */
void text_time(FILE *out, uint64_t ms);

/* A paragraph with a label in front, such as "  ports      ...": what is written into `file`
 * between the two calls is gathered, and then wrapped onto the standard output. Its memory is
 * freed. */
struct text_field {
    FILE *file;
    char *text;
    size_t bytes;
};
FILE *text_field_begin(struct text_field *field);
void text_field_end(struct text_field *field, const char *label);

#endif
