/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If a process is killed while it holds the soft NIC's lock, the others must detect this, and must
 * never use the NIC in its undefined state: the model of myr_soft_lock(), myr_soft_unlock(),
 * myr_soft_check_lock() and break_lock_of() in libmyr/soft/nic_parts.h and nic_lock.c, and of
 * myr_segment_gone() in libmyr/node/segment.c.
 *
 * Three processes take the lock, run the control program and release the lock. A and B may be
 * killed meanwhile. B starts when A has ended, and reuses A's entry in the segment's table. A
 * process that finds the lock taken checks whether its holder is alive, and otherwise marks the NIC
 * as broken.
 *
 * Invariants: A NIC is marked as broken only if a process has left it in an undefined state, and no
 * process runs the control program of such a NIC. The lock has one holder at a time, which sees
 * everything that the previous holder has written. No process waits for ever for a dead one, which
 * would be an invalid end state.
 *
 * Without further definitions the model corresponds to the code: the compare-and-swap that takes
 * the lock from its dead holder also marks the NIC as broken, in the lock itself, and process
 * numbers are never reused. The death of a process is visible immediately, but its stores may
 * become visible later.
 *   -DMARK_FIRST    an earlier design: the NIC is marked as broken in a word of its own, and then
 *                   the lock is taken
 *   -DPIDS          an earlier design: process numbers are PIDs, and B has that of A
 *   -DNO_DEATH      no process is killed while it holds the lock
 *   -DTAKE=ORDER    order of the compare-and-swap that takes the lock. With ACQUIRE an observer may
 *                   find the holder in the lock but not yet in the table, and consider it dead. (In
 *                   C11; ARMv8 keeps a store with release before an exchange with acquire.)
 */
#ifndef TAKE
#define TAKE BOTH
#endif
#define PROCESSORS 3
#define WORDS 5
#define STORES 14
#include "memory.pml"

#define A 0
#define B 1
#define C 2
#ifdef PIDS
#define NUMBER(p) ((p) == C -> 3 : 1)
#else
#define NUMBER(p) ((p) + 1)
#endif

#define LOCK 0
#define MARK 1  /* -DMARK_FIRST: the NIC is broken */
#define STATE 2 /* the state of the control program */
#define ENTRY_OF(number) ((number) == 3 -> 4 : 3)
#define BROKEN 128
#define HOLDER (seen & 127)

bool living[4]; /* by number */
byte inside;    /* number of processes that hold the lock */
bool undefined; /* a process was killed while it held the lock */
byte ended;

inline enter()
{
    atomic { assert(inside == 0); inside++ }
}

inline leave(vacant)
{
    if
#ifndef NO_DEATH
    :: p != C -> atomic { undefined = true; inside-- }
#endif
    :: inside--; store(p, LOCK, RELEASE, vacant)
    fi
}

inline run_control_program()
{
    enter();
#ifndef MARK_FIRST
    assert(!undefined);
    use(p, STATE, value);
    fill(p, STATE, value + 1);
#endif
    leave(0)
}

/* Check whether the process that held the lock when it was read is dead. */
inline check_holder()
{
    gone = false;
    if
    :: HOLDER != 0 && HOLDER != NUMBER(p) ->
#ifdef PIDS
        gone = !living[HOLDER]
#else
        load(p, ENTRY_OF(HOLDER), ACQUIRE, value);
        gone = value != HOLDER || !living[HOLDER]
#endif
    :: else
    fi
}

inline inherit()
{
    load(p, LOCK, ACQUIRE, seen);
    check_holder();
    if
    :: gone ->
#ifdef MARK_FIRST
        store(p, MARK, RELEASE, 1);
        assert(undefined);
        compare(p, LOCK, STRICT, seen, 0, won)
#else
        value = HOLDER;
        compare(p, LOCK, STRICT, value, BROKEN, won);
        if
        :: !won -> compare(p, LOCK, STRICT, BROKEN | value, BROKEN, won)
        :: else
        fi;
        assert(!won || undefined)
#endif
    :: else
    fi
}

proctype process(byte p)
{
    byte seen, value;
    bool won, gone;
    if
    :: p == B -> ended & 1 /* A has */
    :: else
    fi;
    store(p, ENTRY_OF(NUMBER(p)), RELEASE, NUMBER(p));
    living[NUMBER(p)] = true;
    do
    :: compare(p, LOCK, TAKE, 0, NUMBER(p), won);
        if
        :: won -> run_control_program(); break
        :: else
        fi;
#ifdef MARK_FIRST
        inherit();
        load(p, MARK, ACQUIRE, value);
        if
        :: value -> break
        :: else
        fi;
#else
        compare(p, LOCK, STRICT, BROKEN, BROKEN | NUMBER(p), won);
        if
        :: won -> enter(); assert(undefined); leave(BROKEN); break
        :: else
        fi;
        inherit();
#endif
        /* Wait until something has changed. */
        LAST(LOCK) != seen || HOLDER == 0 || !living[HOLDER]
    od;
    DRAINED(p);
    atomic { living[NUMBER(p)] = false; ended = ended | 1 << p }
}

init {
    atomic { power_on(); run process(A); run process(B); run process(C) }
}
