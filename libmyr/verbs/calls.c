/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libibverbs; see calls.h. */
#include "libmyr/verbs/calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "libmyr/verbs/verbs.h"

void *myr_verbs_library(const char *soname)
{
    return dlopen(soname, RTLD_NOW | RTLD_LOCAL);
}

bool myr_verbs_find(void *library, const char *name, void *call)
{
    void *found = dlsym(library, name);
    memcpy(call, &found, sizeof(found));
    return NULL != found;
}

static struct myr_verbs_calls calls;
static bool loaded;

static void load_calls(void)
{
    void *library = myr_verbs_library("libibverbs.so.1");
    loaded = NULL != library;
#define FIND(name, symbol) loaded = loaded && myr_verbs_find(library, #symbol, &calls.name);
    MYR_VERBS_CALLS(FIND)
#undef FIND
    calls.cm = loaded ? myr_verbs_load_cm() : NULL;
}

const struct myr_verbs_calls *myr_verbs_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_calls);
    return loaded ? &calls : NULL;
}
