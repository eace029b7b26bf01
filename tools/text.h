/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for terminals. The reader (report_file.c) calls it for texts from files, and the printers
 * for their output. The result is UTF-8 without control characters, so a file cannot control the
 * terminal, and a message stays on one line.
 */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A printable copy, to be freed. Control characters, characters that change the direction of
 * writing, and bytes that are not UTF-8 become '?'. The copy has at most `most` characters (at
 * least 3), and ends in "..." if the text is longer. */
char *text_printable(const char *text, size_t most);

/* The columns of a printable text: its number of characters. */
size_t text_columns(const char *text);

/* Print a text whose lines begin in column `indent` and end before column `width`, broken between
 * words. The last line is ended. A word that is longer than a line extends beyond it. */
void text_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* Print a duration: seconds, minutes and seconds, or hours and minutes. */
void text_time(FILE *out, uint64_t ms);

/* A paragraph with a label, such as "  ports      ...". What is written to `file` between the two
 * calls is collected, then wrapped to standard output, and freed. */
struct text_field {
    FILE *file;
    char *text;
    size_t bytes;
};
FILE *text_field_begin(struct text_field *field);
void text_field_end(struct text_field *field, const char *label);

#endif
