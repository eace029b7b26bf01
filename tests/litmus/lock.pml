/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC's lock: myr_soft_lock(), myr_soft_unlock(), myr_soft_inherit() and break_lock_of() in
 * libmyr/soft/nic_parts.h and nic_lock.c, and myr_segment_gone() in libmyr/node/segment.c.
 *
 * Three processes take the lock, run the control program and give it back. A and B may be killed
 * meanwhile; B begins when A has ended, in A's entry of the segment's table. Who finds the lock
 * taken asks whether its holder is gone, and then breaks the NIC.
 *
 * A NIC that is broken must have been left in doubt by somebody, and nobody runs the control
 * program of one that is in doubt. Never do two have the lock; what one has written the next one
 * sees. Nobody waits for ever for one who is gone: this shows as an invalid end.
 *
 * Without more definitions: the NIC is marked as broken in the lock itself, by the compare-and-swap
 * that takes it from its dead holder; a process has a number that nobody has again. That a process
 * is dead is known at once; what it has stored need not have been seen.
 *   -DMARK_FIRST  as it was: a word is stored that says so, then the lock is taken
 *   -DPIDS        as it was: B has A's number
 *   -DNO_DEATH    nobody is killed inside the lock
 *   -DTAKE=order  of the compare-and-swap that takes the lock. With ACQUIRE, an observer may see the
 *                 holder in the lock but not yet in the table, and believe it to be gone. (In C11;
 *                 ARMv8 keeps a store with release before an exchange with acquire.)
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
#define MARK 1  /* -DMARK_FIRST: it is broken */
#define STATE 2 /* the control program's */
#define ENTRY_OF(number) ((number) == 3 -> 4 : 3)
#define BROKEN 128
#define HOLDER (seen & 127)

bool living[4]; /* by number */
byte inside;    /* how many have the lock */
bool doubt;     /* somebody was killed inside */
byte ended;

inline come_in()
{
    atomic { assert(inside == 0); inside++ }
}

inline go_out(vacant)
{
    if
#ifndef NO_DEATH
    :: p != C -> atomic { doubt = true; inside-- }
#endif
    :: inside--; store(p, LOCK, RELEASE, vacant)
    fi
}

inline run_control_program()
{
    come_in();
#ifndef MARK_FIRST
    assert(!doubt);
    use(p, STATE, value);
    fill(p, STATE, value + 1);
#endif
    go_out(0)
}

/* Is the process gone that had the lock when we looked? */
inline look_whether_gone()
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
    look_whether_gone();
    if
    :: gone ->
#ifdef MARK_FIRST
        store(p, MARK, RELEASE, 1);
        assert(doubt);
        compare(p, LOCK, STRICT, seen, 0, won)
#else
        value = HOLDER;
        compare(p, LOCK, STRICT, value, BROKEN, won);
        if
        :: !won -> compare(p, LOCK, STRICT, BROKEN | value, BROKEN, won)
        :: else
        fi;
        assert(!won || doubt)
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
        :: won -> come_in(); assert(doubt); go_out(BROKEN); break
        :: else
        fi;
        inherit();
#endif
        /* Until there is something new to be seen. */
        LAST(LOCK) != seen || HOLDER == 0 || !living[HOLDER]
    od;
    DRAINED(p);
    atomic { living[NUMBER(p)] = false; ended = ended | 1 << p }
}

init {
    atomic { power_on(); run process(A); run process(B); run process(C) }
}
