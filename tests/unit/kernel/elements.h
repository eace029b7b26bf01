/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The elements of the program's map of groups, as the program sees them.
 */
#ifndef TESTS_UNIT_KERNEL_ELEMENTS_H
#define TESTS_UNIT_KERNEL_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Have the group that is found by `key` say that its key is `says`: so does an element whose memory
 * another group has got since it was looked up. */
void set_inner_key(uint64_t key, uint64_t says);

/* Copy the element, at one moment. */
size_t element_bytes(void);
void copy_element(uint64_t key, void *copy);

#endif
