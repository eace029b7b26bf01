/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins are names in a BPF file system. Those of a kernel NIC refer to its maps and links, and keep
 * them alive when their owner dies. The next owner opens them by these names and takes over the NIC
 * (owner.c).
 *
 * Each NIC has a separate directory, /sys/fs/bpf/nicbarr/NETWORK-NAME. Since several network
 * namespaces may share one file system, the name of the directory begins with the cookie of the
 * network namespace (NETWORK), which the kernel never reuses.
 *
 * Invariants: only one process at a time uses the pins of a NIC (flock()). A directory to which
 * another user can write is refused, because that user could replace the maps.
 *
 * This unit does not use libbpf, because hooks.c also needs the pins, and is tested without
 * libbpf. */
#ifndef MCP_KERNEL_PINS_H
#define MCP_KERNEL_PINS_H

#include <stdbool.h>

enum { MCP_PIN_PATH = 160, MCP_PINS_WHY = 240 };

struct mcp_pins {
    int dir, parent; /* -1 if nothing is pinned */
    char name[96];   /* of the directory in its parent */
    char path[112];  /* of the directory, with a trailing slash */
};

#define MCP_NO_PINS ((struct mcp_pins){.dir = -1, .parent = -1})

/* Opens or creates the directory for the pins of the NIC with this name. If no BPF file system is
 * mounted, mounts it at its usual place. If nothing can be pinned, returns false, with a message in
 * `why`. */
bool mcp_pins_open(struct mcp_pins *pins, const char *name, char why[MCP_PINS_WHY]);
static inline bool mcp_pins_there(const struct mcp_pins *pins)
{
    return pins->dir >= 0;
}

/* Forms the path of a pin. Returns false if it is too long. */
bool mcp_pins_path(const struct mcp_pins *pins, const char *name, char path[MCP_PIN_PATH]);

/* mcp_pins_put() pins the object behind a descriptor. mcp_pins_get() opens a pin, and returns -1
 * with errno on failure. mcp_pins_drop() removes a pin. */
int mcp_pins_put(const struct mcp_pins *pins, const char *name, int descriptor);
int mcp_pins_get(const struct mcp_pins *pins, const char *name);
void mcp_pins_drop(const struct mcp_pins *pins, const char *name);

/* Records that the directory is this process's root directory from now on. */
void mcp_pins_are_root(struct mcp_pins *pins);

/* Removes the pins PREFIX0, PREFIX1, and so on. */
void mcp_pins_drop_row(const struct mcp_pins *pins, const char *prefix);

/* Removes all pins. Must not be called after mcp_pins_are_root(), because it lists the
 * directory. */
void mcp_pins_clear(const struct mcp_pins *pins);

/* Releases the pins. With `remove`, the directory, which must be empty, is also deleted. */
void mcp_pins_close(struct mcp_pins *pins, bool remove);

#endif
