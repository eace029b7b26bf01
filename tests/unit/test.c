/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of a program; see test.h. */
#include <errno.h>

#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { MOST = 200 };

static struct CMUnitTest all[MOST];
static size_t count;

void test_add(struct CMUnitTest test)
{
    if (MOST == count) {
        abort();
    }
    all[count++] = test;
}

int test_run(const char *only)
{
    struct CMUnitTest tests[MOST] = {{NULL}}; /* cmocka ignores those without a name */
    size_t chosen = 0;
    for (size_t i = 0; i < count; ++i) {
        if (NULL == only || 0 == strcmp(only, all[i].name)) {
            tests[chosen++] = all[i];
        }
    }
    return cmocka_run_group_tests_name(program_invocation_short_name, tests, NULL, NULL);
}

/* For programs without their own. */
__attribute__((weak)) int main(void)
{
    crew_watchdog();
    return test_run(NULL);
}
