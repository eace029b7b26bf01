/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a barrier, as things to measure: what parts.cpp (Google Benchmark, C++) asks for and
 * parts.c and parts_pair.c (C, as libmyr's headers are) do.
 *
 * Two that play together are processes, not threads. ..._open() forks the partner, which does the
 * other half of each play. After ..._close() it is gone. If this process dies, so does the partner.
 * Invariant: between open and close both are on the processors that the placement asks for.
 * Afterwards this process is where it was.
 */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the arrival record: P words, `stride` bytes apart, written and read by one process ---- */

struct parts_record;
struct parts_record *parts_record_open(uint32_t size, uint32_t stride);
void parts_record_publish(struct parts_record *record);        /* the next epoch, in all words */
bool parts_record_complete(const struct parts_record *record); /* look at all of them */
void parts_record_close(struct parts_record *record);

/* A split barrier of `size` members, all played here: everybody arrives, then one tests. */
struct parts_arrivals;
struct parts_arrivals *parts_arrivals_open(uint32_t size);
bool parts_arrivals_play(struct parts_arrivals *arrivals);
void parts_arrivals_close(struct parts_arrivals *arrivals);

/* ---- two processes ---- */

enum parts_way {
    PARTS_POLLING,  /* a processor each */
    PARTS_YIELDING, /* both on one processor */
    PARTS_SLEEPING  /* a processor each, but asleep on the futex as soon as may be */
};

struct parts_pair;

/* A word to and fro; with PARTS_SLEEPING each wakes the other from its sleep. NULL: not on this
 * machine (one processor only, or no memory). */
struct parts_pair *parts_pingpong_open(enum parts_way way);

/* A barrier; `layout` is "flags:4", "flags:64", "flags:128", "counter" or the name of a schedule.
 */
struct parts_pair *parts_barrier_open(enum parts_way way, const char *layout);

void parts_pair_play(struct parts_pair *pair); /* there and back again; or one barrier */
void parts_pair_close(struct parts_pair *pair);

/* ---- a NIC's path ---- */

/* Two nodes with a NIC each, both in this process, and a group of the two. Nobody waits for long,
 * as each message is there when somebody looks for it. What a barrier takes: with "soft", on the
 * loopback interface, the control program's instructions, a wait's, and the system calls of two
 * packets; with "verbs", on one RDMA device, the engine's, a wait's, and two writes. */
struct parts_nics;
struct parts_nics *parts_nics_open(const char *kind); /* NULL: not on this machine */
bool parts_nics_play(struct parts_nics *nics);        /* one barrier; false: a packet was lost */
void parts_nics_poll(struct parts_nics *nics);        /* a look in vain */
void parts_nics_close(struct parts_nics *nics);

/* ---- matching ---- */

/* Receives and messages wait, each with a tag of its own; messages come from `sources` senders in
 * turn. A play matches one pair, which costs the same whatever else waits. */
enum parts_match_way {
    PARTS_MATCH_POSTED,     /* a receive that named its source is there first */
    PARTS_MATCH_UNEXPECTED, /* the message is there first */
    PARTS_MATCH_OPEN,       /* a receive from any source is there first */
};
struct parts_match;
struct parts_match *parts_match_open(uint32_t waiting, uint32_t sources);
bool parts_match_play(struct parts_match *match, enum parts_match_way way);
void parts_match_close(struct parts_match *match);

/* ---- setting up ---- */

/* Compute the schedule of the last of `size` ranks; returns how many messages it has. */
uint32_t parts_schedule(const char *choice, uint32_t size);

/* Make rank 1's plan out of schedules, over memory that is not touched; returns its steps. */
struct parts_planner;
struct parts_planner *parts_planner_open(const char *choice, uint32_t size);
uint32_t parts_planner_play(struct parts_planner *planner);
void parts_planner_close(struct parts_planner *planner);

/* Join a record of two members that is not there yet as both of them, and leave it. */
struct parts_segment;
struct parts_segment *parts_segment_open(uint32_t bytes,
                                         uint32_t others); /* others: there already */
bool parts_segment_play(struct parts_segment *segment);
void parts_segment_close(struct parts_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
