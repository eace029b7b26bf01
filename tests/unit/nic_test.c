/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests barriers and other collectives on the soft NIC, with real processes, and UDP over the
 * loopback interface. A failure means that they return early, hang, or deliver wrong data when
 * processes leave, stop or die.
 *
 * Invariants:
 *
 * - All processes of a node share one NIC, regardless of which of them attach, leave or are killed.
 * - No process leaves a barrier across nodes before all have entered it, regardless of other
 *   packets and of stopped processes.
 * - When a process is killed while it runs the control program, or as a member of a group, the
 *   waiting processes get an error.
 * - With a progress thread, barriers complete although no process polls.
 * - What cannot be set up fails on all processes alike, with an error message.
 *
 * Invariants of groups that carry data or broadcast:
 *
 * - Each process finds all nodes' blocks of an epoch, and one process of a node builds the node's
 *   block from all contributions.
 * - Groups whose processes have left are kept while peers may miss packets, up to a limit, and then
 *   freed completely.
 * - In a group that broadcasts, each process reads each root's block, regardless of interleaved
 *   barriers.
 *
 * A "node" is a segment with a NIC in it. Processes are forked before they join.
 *
 * The directory nic/ has the files that the tests share:
 *
 *   machine.h     the simulated machine              world.h       state that processes share
 *   member.h      a process                          play.h        data, and successive groups
 *   refusals.h    expected errors                    strangers.h   other hosts' packets
 *
 * The tests are in the other files of that directory. This file runs them.
 */
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

int main(void)
{
    crew_watchdog();
    /* All other tests need processes, because the NIC's lock contains its owner's PID. */
    return test_run(crew_of_threads() ? "threads_poll" : NULL);
}
