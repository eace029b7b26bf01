/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and changes elements of the program's map of groups in the representation that the program
 * uses.
 */
#ifndef TESTS_UNIT_KERNEL_ELEMENTS_H
#define TESTS_UNIT_KERNEL_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The descriptor of the NIC's map of this name, with values of this size (0: of any). */
int find_map(const char *name, uint32_t value_bytes);

/* Overwrite the key in the group that is found by `key` with `says`. This is what a program sees if
 * another group got the element's memory after the look-up. */
void set_inner_key(uint64_t key, uint64_t other);

/* An atomic copy of the element. */
size_t element_bytes(void);
void copy_element(uint64_t key, void *copy);

/* Fill the map of closed groups, or empty it. */
void fill_late(bool full);

#endif
