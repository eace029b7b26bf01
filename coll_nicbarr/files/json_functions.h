/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks whether the JSON functions called by this component are those of jansson.
 *
 * A program, or a library whose symbols have no versions (json-glib, for example), may export
 * functions that have the same names as those of jansson, and to which the dynamic linker then
 * binds the component's calls. In such a process the tuning cache and the report are unavailable.
 *
 * Depends on jansson and the dynamic linker only. */
#ifndef NICBARR_JSON_FUNCTIONS_H
#define NICBARR_JSON_FUNCTIONS_H

#include <stdbool.h>

/* Check all functions. Returns the name of one that is not jansson's, with the path of the program
 * or library that defines it in `file`, or NULL if all are jansson's. Called before other threads
 * call nicbarr_json_usable(). */
const char *nicbarr_json_check(const char **file);

/* Returns false if the last check has found a function that is not jansson's. Any thread may call
 * this. */
bool nicbarr_json_usable(void);

#endif
