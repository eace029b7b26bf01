/* SPDX-License-Identifier: BSD-3-Clause */
/* The rights of this process. The daemon gives up those that it does not need. Called by
 * kernel_server.c. */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdint.h>

#include "libmyr/status.h"

/* Keep only those of this process's capabilities that are in `keep` (bit CAP_X for CAP_X), and
 * never gain any. For processes of one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
