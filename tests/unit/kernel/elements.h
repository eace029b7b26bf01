/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The elements of the program's map of groups, as the program sees them.
 */
#ifndef TESTS_UNIT_KERNEL_ELEMENTS_H
#define TESTS_UNIT_KERNEL_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Have the group that is found by `key` say that its key is `says`: so does an element whose memory
 * another group has got since it was looked up. */
void set_inner_key(uint64_t key, uint64_t says);

/* Copy the element, at one moment. */
size_t element_bytes(void);
void copy_element(uint64_t key, void *copy);

/* Leave the NIC no room for any more closed groups; or again as much as it had. */
void fill_late(bool full);

#endif
