/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If a process dies with the soft NIC's lock, the others must learn so, and never use the NIC while
 * it is in an undefined state: the model of myr_soft_lock(), myr_soft_unlock(), myr_soft_check_lock()
 * and break_lock_of() in libmyr/soft/nic_parts.h and nic_lock.c, and of myr_segment_gone() in
 * libmyr/node/segment.c.
 *
 * Three processes take the lock, run the control program and release the lock. A and B may be
 * killed meanwhile. B starts when A has ended, and reuses A's entry in the segment's table. A
 * process that finds the lock taken checks whether its holder is alive, and otherwise marks the NIC
 * as broken.
 *
 * A NIC is marked as broken only if a process has left it in an undefined state, and no process
 * runs the control program of such a NIC. No two processes have the lock at a time; what one has
 * written the next one sees. No process waits for ever for a dead one: that shows as an invalid end
 * state.
 *
 * Without more definitions the NIC is marked as broken in the lock itself, by the compare-and-swap
 * that takes it from its dead holder, and process numbers are never reused. The death of a process
 * is known at once; what it has stored need not be visible yet.
 *   -DMARK_FIRST    an earlier design: a word is stored that says so, then the lock is taken
 *   -DPIDS          an earlier design: B has A's number
 *   -DNO_DEATH      no process is killed inside the lock
 *   -DTAKE=ORDER    of the compare-and-swap that takes the lock. With ACQUIRE an observer may see
 *                   the holder in the lock but not yet in the table, and consider it dead. (In C11.
 *                   ARMv8 keeps a store with release before an exchange with acquire.)
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
#define STATE 2 /* the control program's */
#define ENTRY_OF(number) ((number) == 3 -> 4 : 3)
#define BROKEN 128
#define HOLDER (seen & 127)

bool living[4]; /* by number */
byte inside;    /* how many processes have the lock */
bool undefined;     /* a process was killed inside */
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

/* Is the process dead that had the lock when it was read? */
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
