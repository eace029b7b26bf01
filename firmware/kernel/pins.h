/* SPDX-License-Identifier: BSD-3-Clause */
/* The pins of a kernel NIC: names of its maps and links in a BPF file system, which keep them alive
 * when their owner dies. The next owner opens them by these names and takes the NIC over (owner.c).
 *
 * Each NIC has a folder of its own, /sys/fs/bpf/nicbarr/NETWORK-NAME. NETWORK is the cookie of its
 * network namespace, which the kernel never reuses, because many network namespaces may share one
 * file system.
 *
 * Invariants: a folder that another user can write is refused, because that user could plant maps
 * there. One process at a time has a NIC's pins (flock()).
 *
 * No libbpf here: hooks.c needs the pins as well, and is tested without it. */
#ifndef MCP_KERNEL_PINS_H
#define MCP_KERNEL_PINS_H

#include <stdbool.h>

enum { MCP_PIN_PATH = 160, MCP_PINS_WHY = 240 };

struct mcp_pins {
    int folder, parent; /* -1: nothing is pinned */
    char name[96];      /* of the folder in its parent */
    char path[112];     /* of the folder, with a trailing slash */
};

#define MCP_NO_PINS ((struct mcp_pins){.folder = -1, .parent = -1})

/* Open or create the folder of the NIC with this name. False with a line in `why`: nothing can be
 * pinned here. Mounts a BPF file system at its usual place if there is none. */
bool mcp_pins_open(struct mcp_pins *pins, const char *name, char why[MCP_PINS_WHY]);
static inline bool mcp_pins_there(const struct mcp_pins *pins)
{
    return pins->folder >= 0;
}

/* The path of a pin. False if it is too long. */
bool mcp_pins_path(const struct mcp_pins *pins, const char *name, char path[MCP_PIN_PATH]);

/* Pin the object behind a descriptor; open a pin: -1, with errno, on failure; remove a pin. */
int mcp_pins_put(const struct mcp_pins *pins, const char *name, int descriptor);
int mcp_pins_get(const struct mcp_pins *pins, const char *name);
void mcp_pins_drop(const struct mcp_pins *pins, const char *name);

/* The folder is the root directory of this process from now on. */
void mcp_pins_are_root(struct mcp_pins *pins);

/* Remove the pins PREFIX0, PREFIX1, and so on. */
void mcp_pins_drop_row(const struct mcp_pins *pins, const char *prefix);

/* Remove all pins (not after mcp_pins_are_root(), as that would have to list the folder). */
void mcp_pins_clear(const struct mcp_pins *pins);

/* Release the pins; `remove`: delete the folder, too, which is empty. */
void mcp_pins_close(struct mcp_pins *pins, bool remove);

#endif
