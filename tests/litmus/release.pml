/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The release of the kernel's NIC: play(), release(), wake() and MCP_RING_SLEEP in
 * firmware/kernel/program.bpf.c and its headers, watch() in libmyr/kernel/kernel_group.c.
 *
 * PLAYERS processors each complete an epoch of one group, which is under its lock (mcp_group_burst()),
 * and then tell the hosts: the page gets the last epoch that is done. When all are through it must
 * be right, as nobody comes again. -DSLEEPER: a host waits for the last epoch. It rings
 * MCP_RING_SLEEP, looks at the page once more, and sleeps until a packet wakes it.
 *
 * Without more definitions: as the program does it, with the page written under the group's lock.
 *   -DBARE      as it was: a store, then another look at `done`, LOOKS times at the most
 *   -DEXCHANGE  the same with an atomic exchange for the store
 *   -DBY_START  as it was: player 0 completes its epoch by a doorbell, in the way out, and wakes
 *               nobody (now the doorbell itself becomes the packet that wakes)
 *   -DSLICE     the sleep has an end
 *
 * Assumed of the kernel, and not tried. What arm64 makes of an exchange was read
 * (arch/arm64/net/bpf_jit_comp.c); of x86's compiler an excerpt was read. What is said of
 * bpf_spin_lock() and of the futex is from memory. BPF's loads and stores become the processor's plain
 * ones, so are RELAXED here. bpf_spin_lock() is the kernel's arch_spin_lock(), which acquires, and
 * bpf_spin_unlock() releases; no more is asked of them. BPF_XCHG is xchg on x86, a full barrier. On
 * arm64 it is swpal where the processor has it, which acquires and releases, else a loop of ldxr and
 * stlxr with dmb ish behind it, a full barrier; BOTH is what the two have in common. The packet
 * that wakes goes through a socket's lock, which orders; the model needs no more than that it comes.
 */
#ifndef PLAYERS
#define PLAYERS 2
#endif
#ifndef LOOKS
#define LOOKS 8
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

#define LOCK 0 /* of the group */
#define DONE 1
#define PAGE 2
#define WAKE 3 /* wake_to: somebody sleeps */

byte packets; /* that are to wake the host, and have not been taken */
byte ended;

inline unlock(p)
{
    store(p, LOCK, RELEASE, 0)
}

inline release(p)
{
#if defined(BARE) || defined(EXCHANGE)
    looks = 0;
    do
    :: looks < LOOKS ->
        load(p, DONE, RELAXED, done);
#ifdef BARE
        store(p, PAGE, RELAXED, done);
#else
        exchange(p, PAGE, BOTH, done, again);
#endif
        load(p, DONE, RELAXED, again);
        if
        :: again == done -> break
        :: else -> looks++
        fi
    :: else -> break
    od;
    looks = 0
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
    byte done, again, looks, sleeper;
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
