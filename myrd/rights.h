/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process may do: the daemon gives up what it does not need. Called by kernel_server.c.
 */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdint.h>

#include "libmyr/status.h"

/* Keep, of the capabilities that this process has, those in `keep` (bit CAP_X for CAP_X), and never
 * gain any. For processes of one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
