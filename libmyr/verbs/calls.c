/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libibverbs; see calls.h. */
#include "libmyr/verbs/calls.h"

#include <dlfcn.h>
#include <string.h>

static bool find(void *library, const char *name, void *call)
{
    void *found = dlsym(library, name);
    memcpy(call, &found, sizeof(found));
    return NULL != found;
}

const struct myr_verbs_calls *myr_verbs_load(void)
{
    static struct myr_verbs_calls calls;
    static bool loaded;
    if (!loaded) {
        void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
        loaded = NULL != library;
#define FIND(name, symbol) loaded = loaded && find(library, #symbol, &calls.name);
        MYR_VERBS_CALLS(FIND)
#undef FIND
    }
    return loaded ? &calls : NULL;
}
