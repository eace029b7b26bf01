/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a barrier as functions to measure. parts.cpp (Google Benchmark, C++) calls them;
 * parts.c and parts_pair.c implement them in C, because libmyr's headers are C.
 *
 * A pair consists of two processes, not threads. ..._open() forks the second process, the partner,
 * which performs its half of each operation, and ..._close() ends it. The partner also ends if this
 * process dies. Between open and close both processes are bound to cores according to enum
 * parts_way; after that, the affinity of this process is restored.
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
void parts_record_publish(struct parts_record *record);        /* writes the next epoch into all
                                                                  words */
bool parts_record_complete(const struct parts_record *record); /* checks all words */
void parts_record_close(struct parts_record *record);

/* A split barrier of `size` members, all in this process: all members arrive, then one tests. */
struct parts_arrivals;
struct parts_arrivals *parts_arrivals_open(uint32_t size);
bool parts_arrivals_play(struct parts_arrivals *arrivals);
void parts_arrivals_close(struct parts_arrivals *arrivals);

/* ---- two processes ---- */

enum parts_way {
    PARTS_POLLING,  /* each process polls on a separate core */
    PARTS_YIELDING, /* both processes share one core and yield it */
    PARTS_SLEEPING  /* each process has a separate core, and sleeps on the futex as soon as possible
                     */
};

struct parts_pair;

/* Opens a ping-pong: a word is sent back and forth, and with PARTS_SLEEPING each process wakes the
 * other one. Returns NULL if this machine does not support it (a single core, or no memory). */
struct parts_pair *parts_pingpong_open(enum parts_way way);

/* Opens a barrier of two processes; `layout` is "flags:4", "flags:64", "flags:128", "counter" or
 * the name of a schedule. */
struct parts_pair *parts_barrier_open(enum parts_way way, const char *layout);

void parts_pair_play(struct parts_pair *pair); /* performs one round trip, or one barrier */
void parts_pair_close(struct parts_pair *pair);

/* ---- a NIC's path ---- */

/* Two nodes with a NIC each, both of which are in this process, and a group of both nodes. There is
 * hardly any waiting, because each message has arrived before it is polled for. For "soft", which
 * uses the loopback interface, the cost of a barrier therefore consists of the instructions of the
 * control program, of the code that waits, and of the system calls for two packets. For "verbs",
 * which uses a single RDMA device, it consists of the instructions of the engine, of the code that
 * waits, and of two RDMA writes. */
struct parts_nics;
struct parts_nics *parts_nics_open(const char *kind); /* NULL: not supported on this machine */
bool parts_nics_play(struct parts_nics *nics);        /* performs one barrier; false: a packet was
                                                         lost */
void parts_nics_poll(struct parts_nics *nics);        /* polls once without a result */
void parts_nics_close(struct parts_nics *nics);

/* ---- matching ---- */

/* How a message and a receive are matched. The table contains posted receives and unexpected
 * messages with different tags from `sources` senders, which send alternately. Each operation
 * matches one message with one receive. Its cost should not depend on the number of other
 * entries. */
enum parts_match_way {
    PARTS_MATCH_POSTED,     /* a receive with a named source is posted first */
    PARTS_MATCH_UNEXPECTED, /* the message arrives first */
    PARTS_MATCH_OPEN,       /* a receive with an open source is posted first */
};
struct parts_match;
struct parts_match *parts_match_open(uint32_t waiting, uint32_t sources);
bool parts_match_play(struct parts_match *match, enum parts_match_way way);
void parts_match_close(struct parts_match *match);

/* ---- setup ---- */

/* Computes the schedule of the last of `size` ranks. Returns its number of messages. */
uint32_t parts_schedule(const char *choice, uint32_t size);

/* Builds rank 1's plan from schedules, in memory that is not touched. Returns its number of
 * steps. */
struct parts_planner;
struct parts_planner *parts_planner_open(const char *choice, uint32_t size);
uint32_t parts_planner_play(struct parts_planner *planner);
void parts_planner_close(struct parts_planner *planner);

/* Creates a record with two members, attaches as both, and detaches, while `others` other records
 * exist. */
struct parts_segment;
struct parts_segment *parts_segment_open(uint32_t bytes, uint32_t others);
bool parts_segment_play(struct parts_segment *segment);
void parts_segment_close(struct parts_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
