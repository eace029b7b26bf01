/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the server of myrd --kernel on a fake of the kernel NIC. A failure means that it lets a
 * user see or disturb other users' groups, loses the failure of a process, or can be blocked by one
 * client.
 *
 * Invariants of groups:
 *
 * - A group belongs to one user, even if others know its key.
 * - It fails when a member dies, but not when a member leaves.
 * - The last member that leaves closes it, and its last epoch is kept. If it carries data or
 *   broadcasts, it first sends its peers a close message, which blocks nobody.
 * - For a stuck group, ASKs are sent with growing intervals, for other groups none.
 *
 * Invariants of the server:
 *
 * - Each user has a quota of the NIC.
 * - The server validates whatever a client sends.
 * - Only hosts that run myrd --kernel can be peers.
 * - No client or unreachable host blocks other clients.
 *
 * Timeouts are tested with simulated time. The tests that run the server in a thread wait for
 * events, never for time to pass.
 *
 * The tests are in the directory kernel_server/, whose headers questions.h (requests), groups.h and
 * server.h declare the functions that they share. This file runs them.
 */
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

int main(void)
{
    crew_watchdog();
    return test_run(NULL);
}
