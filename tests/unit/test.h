/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all unit tests include: cmocka, after the headers that it requires, and the C library's
 * headers that most tests use.
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

#endif
