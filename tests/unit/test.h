/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common includes of all unit tests (cmocka, the headers that must precede it, and those of the C
 * library that most tests use), and the definition of a test.
 *
 *     TEST(name) { ... }
 *
 * defines a test that main() runs. The tests of a file run in their order there. A program needs
 * a main() of its own only if it has to do something before them.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Define a test, which has cmocka's parameter `state`. TEST_IN() also names the functions that
 * cmocka calls before and after the test, each of which may be NULL. */
#define TEST(name) TEST_IN(name, NULL, NULL)
#define TEST_IN(name, begin, end)                                                                  \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        test_add((struct CMUnitTest){#name, name, begin, end, NULL});                              \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

/* Add a test to those of this program. */
void test_add(struct CMUnitTest test);

/* Run all tests of this program, or only the one that is named. Returns main()'s status. */
int test_run(const char *only);

#endif
