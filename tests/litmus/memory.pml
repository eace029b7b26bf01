/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a machine whose processors see each other's stores late, on which the models in
 * this directory run. run.sh begins with the litmus tests of the literature (shapes.pml), which show
 * that the machine itself is right.
 *
 * A model defines PROCESSORS, WORDS, and STORES (one more than the most stores to a word), and
 * includes this file. Its init calls power_on(). A processor p has these operations on a word w,
 * each of which is one step:
 * load(p, w, order, value)
 * store(p, w, order, value)
 * exchange(p, w, order, new, old)
 * add(p, w, order, more, old)
 * compare(p, w, order, want, new, won): C's strong compare-and-exchange
 * await(p, w, order, want, new): waits until the word is `want`, then exchanges it, as a spinlock
 * does, in one step
 * fence(p): a full fence
 * use(p, w, value), fill(p, w, value): accesses that are not atomic in C
 *
 * The orders are C's: RELAXED, ACQUIRE, RELEASE, BOTH (acquire and release), STRICT (seq_cst).
 *
 * -DTSO is x86. Stores go through a queue of the processor, in which its own loads look first.
 * Exchanges and the like, fences and STRICT stores wait until the queue is empty. Orders make no
 * other difference.
 *
 * Without it the machine is C11's, which permits more than ARMv8 does with what compilers make of
 * C11. A word keeps all of its stores. A processor knows how much of each word it has seen; a load
 * returns any store from there on, so possibly an old one. A store with RELEASE carries what its
 * processor has seen; a processor that loads it with ACQUIRE has seen that as well. Two accesses by
 * use() and fill() that are not ordered are a data race, which is an error.
 *
 * The machine lacks two things that ARMv8 does: a later store that becomes visible before an
 * earlier load is performed, and two processors that store to the same two words in opposite
 * orders. Nothing here does the second. The first needs a load that no lock, ACQUIRE or RELEASE
 * keeps in its place; where memory is handed over that would be a data race.
 */
#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define BOTH 3
#define STRICT 7
#define ACQUIRES(order) ((order) & 1)
#define RELEASES(order) ((order) & 2)
#define IS_STRICT(order) ((order) & 4)

byte i_, n_, v_; /* scratch; always 0 between two steps */

#ifdef TSO

#define QUEUE 3

typedef Queue {
    byte word[QUEUE];
    byte value[QUEUE];
    byte length
}

Queue queue[PROCESSORS];
byte memory[WORDS];

#define LAST(w) memory[w]
#define DRAINED(p) (queue[p].length == 0)

proctype drain(byte p)
{
end:
    do
    :: d_step {
        queue[p].length > 0 ->
        memory[queue[p].word[0]] = queue[p].value[0];
        queue[p].length--;
        i_ = 0;
        do
        :: i_ < queue[p].length ->
            queue[p].word[i_] = queue[p].word[i_ + 1];
            queue[p].value[i_] = queue[p].value[i_ + 1];
            i_++
        :: else -> break
        od;
        queue[p].word[i_] = 0;
        queue[p].value[i_] = 0;
        i_ = 0
    }
    od
}

inline power_on()
{
    do
    :: v_ < PROCESSORS -> run drain(v_); v_++
    :: else -> v_ = 0; break
    od
}

inline load(p, w, order, result)
{
    d_step {
        v_ = memory[w];
        do
        :: i_ < queue[p].length ->
            if
            :: queue[p].word[i_] == (w) -> v_ = queue[p].value[i_]
            :: else
            fi;
            i_++
        :: else -> break
        od;
        result = v_;
        i_ = 0;
        v_ = 0
    }
}

inline store(p, w, order, new)
{
    d_step {
        queue[p].length < QUEUE ->
        queue[p].word[queue[p].length] = w;
        queue[p].value[queue[p].length] = new;
        queue[p].length++
    }
    if
    :: !IS_STRICT(order) || DRAINED(p)
    fi
}

inline exchange(p, w, order, new, old)
{
    d_step { DRAINED(p) -> v_ = memory[w]; memory[w] = new; old = v_; v_ = 0 }
}

inline add(p, w, order, more, old)
{
    d_step { DRAINED(p) -> old = memory[w]; memory[w] = memory[w] + (more) }
}

inline compare(p, w, order, want, new, won)
{
    d_step {
        DRAINED(p) ->
        if
        :: memory[w] == (want) -> memory[w] = new; won = true
        :: else -> won = false
        fi
    }
}

inline await(p, w, order, want, new)
{
    d_step { DRAINED(p) && memory[w] == (want) -> memory[w] = new }
}

inline fence(p)
{
    DRAINED(p)
}

#define use(p, w, result) load(p, w, RELAXED, result)
#define fill(p, w, new) store(p, w, RELAXED, new)

#else /* C11 */

typedef Write {
    byte value;
    byte seen[WORDS] /* by the processor that made it, if it was a release */
}

typedef Word {
    Write write[STORES];
    byte last
}

typedef Processor {
    byte seen[WORDS]
}

Word word[WORDS];
Processor cpu[PROCESSORS];
byte strict[WORDS]; /* the last STRICT store to each word */
byte fenced[WORDS]; /* what was seen by processors that have had a fence */

#define LAST(w) word[w].write[word[w].last].value
#define DRAINED(p) true

inline power_on()
{
    skip
}

/* Update what p has seen, as it has acquired the store at index n_ of word w. */
inline learn(p, w)
{
    i_ = 0;
    do
    :: i_ < WORDS ->
        if
        :: word[w].write[n_].seen[i_] > cpu[p].seen[i_] ->
            cpu[p].seen[i_] = word[w].write[n_].seen[i_]
        :: else
        fi;
        i_++
    :: else -> i_ = 0; break
    od
}

/* A store. `after`: it is the second half of an exchange, and also carries what the store before it
 * did. */
inline append(p, w, order, new, after)
{
    n_ = word[w].last + 1;
    assert(n_ < STORES);
    word[w].last = n_;
    word[w].write[n_].value = new;
    cpu[p].seen[w] = n_;
    do
    :: i_ < WORDS ->
        if
        :: RELEASES(order) -> word[w].write[n_].seen[i_] = cpu[p].seen[i_]
        :: else
        fi;
        if
        :: after && word[w].write[n_ - 1].seen[i_] > word[w].write[n_].seen[i_] ->
            word[w].write[n_].seen[i_] = word[w].write[n_ - 1].seen[i_]
        :: else
        fi;
        i_++
    :: else -> i_ = 0; break
    od;
    if
    :: IS_STRICT(order) -> strict[w] = n_
    :: else
    fi;
    n_ = 0
}

/* The second half of an exchange, which always finds the last store. */
inline replace(p, w, order, new)
{
    if
    :: ACQUIRES(order) -> n_ = word[w].last; learn(p, w)
    :: else
    fi;
    append(p, w, order, new, true)
}

/* Choose a store that a load of p may return. */
inline choose(p, w, order)
{
    n_ = cpu[p].seen[w];
    if
    :: IS_STRICT(order) && strict[w] > n_ -> n_ = strict[w]
    :: else
    fi;
    do
    :: n_ < word[w].last -> n_++
    :: break
    od
}

inline load(p, w, order, result)
{
    atomic {
        choose(p, w, order);
        result = word[w].write[n_].value;
        cpu[p].seen[w] = n_;
        if
        :: ACQUIRES(order) -> learn(p, w)
        :: else
        fi;
        n_ = 0
    }
}

inline store(p, w, order, new)
{
    d_step { append(p, w, order, new, false) }
}

inline exchange(p, w, order, new, old)
{
    d_step { v_ = LAST(w); replace(p, w, order, new); old = v_; v_ = 0 }
}

inline add(p, w, order, more, old)
{
    d_step { v_ = LAST(w); replace(p, w, order, v_ + (more)); old = v_; v_ = 0 }
}

/* A failed one is a load, and may have failed because of an old value. */
inline compare(p, w, order, want, new, won)
{
    atomic {
        choose(p, w, RELAXED);
        won = false;
        if
        :: word[w].write[n_].value != (want) -> cpu[p].seen[w] = n_
        :: word[w].write[n_].value == (want) && LAST(w) != (want) -> cpu[p].seen[w] = word[w].last
        :: else -> replace(p, w, order, new); won = true
        fi;
        n_ = 0
    }
}

inline await(p, w, order, want, new)
{
    d_step { LAST(w) == (want) -> replace(p, w, order, new) }
}

inline fence(p)
{
    d_step {
        do
        :: i_ < WORDS ->
            if
            :: fenced[i_] > cpu[p].seen[i_] -> cpu[p].seen[i_] = fenced[i_]
            :: else -> fenced[i_] = cpu[p].seen[i_]
            fi;
            i_++
        :: else -> i_ = 0; break
        od
    }
}

/* A following access must have seen this one, which a store records. */
inline use(p, w, result)
{
    d_step {
        assert(cpu[p].seen[w] == word[w].last); /* otherwise a data race */
        v_ = LAST(w);
        append(p, w, RELAXED, v_, false);
        result = v_;
        v_ = 0
    }
}

inline fill(p, w, new)
{
    d_step {
        assert(cpu[p].seen[w] == word[w].last); /* otherwise a data race */
        append(p, w, RELAXED, new, false)
    }
}

#endif
