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

/* Returns the descriptor of the NIC's map of this name, with values of this size (0: any size). */
int find_map(const char *name, uint32_t value_bytes);

/* Overwrite the key inside the element that is found by `key` with `other`, as if another group
 * had got the element's memory after the lookup. */
void set_inner_key(uint64_t key, uint64_t other);

/* Return the element's size, and an atomic copy of the element. */
size_t element_bytes(void);
void copy_element(uint64_t key, void *copy);

/* Fill the map of closed groups, or empty it. */
void fill_late(bool full);

#endif
