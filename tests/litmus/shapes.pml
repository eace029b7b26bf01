/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The litmus tests of the literature, which check the memory model (memory.pml) itself: they must
 * show exactly the behaviour that x86 and C11 are known to permit. run.sh states the expected
 * results. WRITE and READ are the orders of the stores and loads.
 *   -DSB            store buffering: each of two processors stores its word, then loads the other
 *                   one's; an error if both read the old value. -DFENCE: with a fence in between;
 *                   -DSWAP: with exchanges instead of the stores
 *   -DMP            message passing: a processor stores data, then a flag; another one loads the
 *                   flag, then the data; an error if the flag is set and the data are old
 *   -DRACE          the same with data that are not atomic, and are read only if the flag is set
 *   -DCORR          a processor stores to a word twice; an error if another one loads the newer
 *                   value first
 *   -DIRIW          two processors store to a word each; an error if two readers see the stores in
 *                   opposite orders
 *   -DCHAIN         a flag is stored with WRITE, and then exchanged by another processor with
 *                   RELAXED order; an error if the data before the first store are not visible to a
 *                   third one
 *
 * libmyr and the firmware rely on SB with STRICT in two places, where one side must see what the
 * other one has just stored: the arrivals of a node's processes (myr_nic_group_arrive() and
 * myr_group_all_arrived() in nic_group.c), and the receive tokens of a port that has run out of
 * them (myr_port_provide() in port.c, mcp_take_token() in rdma.c).
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
