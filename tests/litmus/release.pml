/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the kernel NIC completes a barrier, the release must reach all hosts, whether or not they
 * sleep: the model of run_group(), publish_release(), wake_sleeper() and MCP_RING_SLEEP in
 * firmware/kernel/program.bpf.c and its headers, and of sleep_on_socket() in
 * libmyr/kernel/kernel_group.c.
 *
 * Each of PLAYERS processors completes an epoch of one group under the group's lock
 * (mcp_group_burst()), and then publishes the last complete epoch in the page that hosts read. When
 * all processors have finished, the page must contain the last epoch, because nobody would correct
 * it later. With -DSLEEPER a host waits for the last epoch: it rings MCP_RING_SLEEP, reads the page
 * once more, and sleeps until a packet wakes it.
 *
 * Without further definitions the model corresponds to the program: the page is written under the
 * group's lock.
 *   -DBARE          an earlier design: the page is written by a store, which is repeated, up to
 *                   READS times, if `done` has changed meanwhile
 *   -DEXCHANGE      the same with an atomic exchange instead of the store
 *   -DBY_START      an earlier design: processor 0 completes its epoch while it transmits a
 *                   doorbell, and wakes nobody (now the doorbell itself becomes the packet that
 *                   wakes the host)
 *   -DSLICE         the sleep has a timeout
 *
 * The assumptions about the kernel were not tested. Those about BPF_XCHG come from the source of
 * the JIT compiler for arm64 (arch/arm64/net/bpf_jit_comp.c) and an excerpt of that for x86; those
 * about bpf_spin_lock() and the futex have not been compared with the source.
 *
 * - Loads and stores of BPF become plain ones of the processor, and are RELAXED here.
 * - bpf_spin_lock() is the kernel's arch_spin_lock(), which is an acquire, and bpf_spin_unlock() is
 *   a release. The model requires no more of them.
 * - BPF_XCHG is xchg on x86, a full barrier. On arm64 it is swpal if the processor has this
 *   instruction, which is an acquire and a release, and otherwise a loop of ldxr and stlxr followed
 *   by dmb ish, a full barrier. BOTH is what these have in common.
 * - The packet that wakes the host passes through a socket's lock, which orders memory accesses.
 *   The model only requires that the packet arrives.
 */
#ifndef PLAYERS
#define PLAYERS 2
#endif
#ifndef READS
#define READS 8
#endif
#define PROCESSORS (PLAYERS + 1)
#define HOST PLAYERS
#define WORDS 4
#ifdef SLEEPER
#define STORES 28
#else
#define STORES 14
#endif
#include "memory.pml"

#define LOCK 0 /* the group's lock */
#define DONE 1
#define PAGE 2
#define WAKE 3 /* wake_to: a host sleeps */

byte packets; /* number of packets that will wake the host and were not received yet */
byte ended;

inline unlock(p)
{
    store(p, LOCK, RELEASE, 0)
}

inline release(p)
{
#if defined(BARE) || defined(EXCHANGE)
    reads = 0;
    do
    :: reads < READS ->
        load(p, DONE, RELAXED, done);
#ifdef BARE
        store(p, PAGE, RELAXED, done);
#else
        exchange(p, PAGE, BOTH, done, again);
#endif
        load(p, DONE, RELAXED, again);
        if
        :: again == done -> break
        :: else -> reads++
        fi
    :: else -> break
    od;
    reads = 0
#else
    await(p, LOCK, ACQUIRE, 0, 1);
    load(p, DONE, RELAXED, done);
    store(p, PAGE, RELAXED, done);
    unlock(p)
#endif
}

inline wake(p)
{
    load(p, WAKE, RELAXED, sleeper);
    if
    :: sleeper ->
        await(p, LOCK, ACQUIRE, 0, 1);
        load(p, WAKE, RELAXED, sleeper);
        store(p, WAKE, RELAXED, 0);
        unlock(p);
        packets = packets + sleeper
    :: else
    fi
}

proctype player(byte p)
{
    byte done, again, reads, sleeper;
    await(p, LOCK, ACQUIRE, 0, 1);
    load(p, DONE, RELAXED, done);
    store(p, DONE, RELAXED, done + 1);
    unlock(p);
    release(p);
#ifdef SLEEPER
#ifdef BY_START
    if
    :: p > 0 -> wake(p)
    :: else
    fi;
#else
    wake(p);
#endif
#endif
    DRAINED(p);
    ended++
}

proctype host()
{
    byte seen, again;
    do
    :: load(HOST, PAGE, ACQUIRE, seen);
        if
        :: seen == PLAYERS -> break
        :: else
        fi;
        await(HOST, LOCK, ACQUIRE, 0, 1);
        store(HOST, WAKE, RELAXED, 1);
        unlock(HOST);
        load(HOST, PAGE, ACQUIRE, again);
        if
        :: again == seen ->
            if
            :: packets > 0
#ifdef SLICE
            :: timeout
#endif
            fi
        :: else
        fi;
        packets = 0
    od
}

init {
    atomic {
        power_on();
        run player(0);
        run player(1);
#if PLAYERS > 2
        run player(2);
#endif
#ifdef SLEEPER
        run host();
#endif
    }
    ended == PLAYERS;
    assert(LAST(PAGE) == PLAYERS)
}
