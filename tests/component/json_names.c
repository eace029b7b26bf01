/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library defines functions with names of jansson's, as json-glib
 * does. None of them may be called. tuning.sh runs a job with it.
 */
#include <stdlib.h>

#define DEFINE(name)                                                                               \
    __attribute__((visibility("default"), noreturn)) void name(void);                              \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }

DEFINE(json_array)
DEFINE(json_object_get)
DEFINE(json_object_iter_next)
