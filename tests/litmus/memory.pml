/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory model for the other models in this directory: the memory of a machine on which stores
 * become visible to other processors late. run.sh first runs the litmus tests of the literature
 * (shapes.pml), which check this model itself.
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
 * With -DTSO the machine is an x86. Each processor has a queue of stores, in which its own loads
 * look first. Exchanges and other read-modify-write operations, fences and STRICT stores wait until
 * the queue is empty. The orders make no other difference.
 *
 * Without it the machine is that of C11, which permits more than ARMv8 does with code that a
 * compiler generates from C11. The model keeps all stores to each word, and for each processor the
 * latest store to each word that it has seen. A load returns this store or any later one, and thus
 * possibly an old value. A store with RELEASE also records what its processor has seen; a processor
 * that loads the value with ACQUIRE has then seen that as well. Two accesses by use() and fill()
 * that are not ordered are a data race, which is an error.
 *
 * The model lacks two behaviours of ARMv8. First, a store may become visible before an earlier load
 * is performed. This requires a load that is not ordered by a lock, ACQUIRE or RELEASE; where
 * memory is passed to another processor, such a load would be a data race. Second, the stores of
 * two processors to the same two words may become visible in opposite orders; no code that is
 * modelled here makes such stores.
 */
#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define BOTH 3
#define STRICT 7
#define ACQUIRES(order) ((order) & 1)
#define RELEASES(order) ((order) & 2)
#define IS_STRICT(order) ((order) & 4)

byte i_, n_, v_; /* temporary variables; always 0 between two steps */

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
    byte seen[WORDS] /* what its processor had seen, if the store was a release */
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
byte fenced[WORDS]; /* what processors had seen when they executed a fence */

#define LAST(w) word[w].write[word[w].last].value
#define DRAINED(p) true

inline power_on()
{
    skip
}

/* Update what p has seen after it has acquired the store at index n_ of word w. */
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

/* A store. If `after` is set, it is the second half of an exchange, and also passes on what the
 * previous store to the word recorded. */
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

/* The second half of an exchange, whose first half always reads the last store. */
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

/* A compare-and-exchange that fails is a load, which may have returned an old value. */
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

/* The access is recorded as a store, so that a later access that has not seen it is detected as a
 * data race. */
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
