/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_functions.h. */
#include "coll_nicbarr/files/json_functions.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>

/* The functions of jansson that the component calls, including those called by inline functions and
 * macros of jansson.h. tests/component/tuning.sh compares this list with the component's undefined
 * symbols. */
#define FUNCTION(name) #name, (void *)name
static const struct {
    const char *name;
    void *address;
} functions[] = {
    {FUNCTION(json_array)},
    {FUNCTION(json_array_append_new)},
    {FUNCTION(json_array_get)},
    {FUNCTION(json_array_remove)},
    {FUNCTION(json_array_set_new)},
    {FUNCTION(json_array_size)},
    {FUNCTION(json_delete)},
    {FUNCTION(json_dumpb)},
    {FUNCTION(json_dumps)},
    {FUNCTION(json_equal)},
    {FUNCTION(json_false)},
    {FUNCTION(json_integer)},
    {FUNCTION(json_integer_value)},
    {FUNCTION(json_loadb)},
    {FUNCTION(json_number_value)},
    {FUNCTION(json_object_get)},
    {FUNCTION(json_object_iter)},
    {FUNCTION(json_object_iter_key)},
    {FUNCTION(json_object_iter_next)},
    {FUNCTION(json_object_iter_value)},
    {FUNCTION(json_object_key_to_iter)},
    {FUNCTION(json_object_set_new)},
    {FUNCTION(json_object_update)},
    {FUNCTION(json_pack)},
    {FUNCTION(json_real)},
    {FUNCTION(json_string)},
    {FUNCTION(json_string_value)},
    {FUNCTION(json_true)},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static bool usable = true;

const char *nicbarr_json_check(const char **file)
{
    const char *foreign = NULL;
    const void *first = NULL;
    usable = true;
    for (int f = 0; f < FUNCTIONS; ++f) {
        Dl_info info = {.dli_fname = ""};
        (void)dladdr(functions[f].address, &info);
        first = 0 == f ? info.dli_fbase : first;
        if (NULL == foreign && NULL == strstr(info.dli_fname, "jansson")) {
            foreign = functions[f].name;
            *file = info.dli_fname;
        }
        /* a program that is linked statically with jansson defines all of them */
        usable = usable && info.dli_fbase == first;
    }
    return usable ? NULL : foreign;
}

bool nicbarr_json_usable(void)
{
    return usable;
}
