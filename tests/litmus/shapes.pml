/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The litmus tests of the literature, which check memory.pml itself: what x86 and C11 are known to
 * permit and to forbid. run.sh says which is which. WRITE and READ are the orders of the stores and
 * loads.
 *   -DSB            two processors, each stores its word, then loads the other's: do both read the
 *                   old value? -DFENCE: with a fence in between; -DSWAP: each exchanges instead of
 *                   storing
 *   -DMP            one stores data, then a flag; the other loads the flag, then the data: old
 *                   data?
 *   -DRACE          the same with data that are not atomic, read when the flag is set
 *   -DCORR          one word is stored to; do two consecutive loads of it go back in time?
 *   -DIRIW          two words are stored to; do two readers see them change in opposite orders?
 *   -DCHAIN         a flag is released, then exchanged by another processor, relaxed: are the data
 *                   still visible?
 *
 * SB with STRICT is how libmyr and the firmware avoid missing each other: the arrivals of a node's
 * processes (myr_nic_group_arrive() and myr_group_all_arrived() in nic_group.c), and the receive
 * tokens of a port that is out of them (myr_port_provide() in port.c, mcp_take_token() in rdma.c).
 */
#define PROCESSORS 4
#define WORDS 2
#define STORES 4
#include "memory.pml"

#define X 0
#define Y 1

byte result[4];
byte ended;

proctype first()
{
    byte old;
#if defined(SB)
#ifdef SWAP
    exchange(0, X, WRITE, 1, old);
#else
    store(0, X, WRITE, 1);
#endif
#ifdef FENCE
    fence(0);
#endif
    load(0, Y, READ, result[0]);
#elif defined(MP)
    store(0, X, RELAXED, 1);
    store(0, Y, WRITE, 1);
#elif defined(RACE) || defined(CHAIN)
    fill(0, X, 1);
    store(0, Y, WRITE, 1);
#elif defined(CORR)
    store(0, X, WRITE, 1);
    store(0, X, WRITE, 2);
#elif defined(IRIW)
    store(0, X, WRITE, 1);
#endif
    ended++
}

proctype second()
{
    byte old;
#if defined(SB)
#ifdef SWAP
    exchange(1, Y, WRITE, 1, old);
#else
    store(1, Y, WRITE, 1);
#endif
#ifdef FENCE
    fence(1);
#endif
    load(1, X, READ, result[1]);
#elif defined(MP)
    load(1, Y, READ, result[0]);
    load(1, X, RELAXED, result[1]);
#elif defined(RACE)
    load(1, Y, READ, result[0]);
    if
    :: result[0] != 0 -> use(1, X, result[1])
    :: else
    fi;
#elif defined(CHAIN)
    await(1, Y, RELAXED, 1, 2);
#elif defined(CORR)
    load(1, X, READ, result[0]);
    load(1, X, READ, result[1]);
#elif defined(IRIW)
    store(1, Y, WRITE, 1);
#endif
    ended++
}

proctype third()
{
#if defined(IRIW)
    load(2, X, READ, result[0]);
    load(2, Y, READ, result[1]);
#elif defined(CHAIN)
    load(2, Y, READ, result[0]);
    if
    :: result[0] == 2 -> use(2, X, result[1])
    :: else
    fi;
#endif
    ended++
}

proctype fourth()
{
#if defined(IRIW)
    load(3, Y, READ, result[2]);
    load(3, X, READ, result[3]);
#endif
    ended++
}

init {
    atomic { power_on(); run first(); run second(); run third(); run fourth() }
    ended == 4;
#if defined(SB)
    assert(result[0] != 0 || result[1] != 0)
#elif defined(MP) || defined(RACE)
    assert(result[0] == 0 || result[1] == 1)
#elif defined(CHAIN)
    assert(result[0] != 2 || result[1] == 1)
#elif defined(CORR)
    assert(result[1] >= result[0])
#elif defined(IRIW)
    assert(!(result[0] == 1 && result[1] == 0 && result[2] == 1 && result[3] == 0))
#endif
}
