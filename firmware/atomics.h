/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared words and epochs: the only atomics nicbarr uses.
 *
 * Every word in memory that processes share is a myr_word, has one writer (except counters), and is
 * touched through these helpers only; each helper's comment names the one it pairs with.
 */
#ifndef MYR_ATOMICS_H
#define MYR_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __bpf__
typedef volatile uint32_t myr_word; /* it has no other atomics than counters */
#else
#include <stdatomic.h>
typedef _Atomic uint32_t myr_word;
#endif

/* Two neighbouring 64-byte lines are fetched as a pair on x86: independent words keep this distance
 * (bytes). */
#define MYR_LINE 128

/*
 * Epochs count the collectives a group has done. They wrap around; of two epochs that are less than
 * 2^31 apart this tells whether `seen` is `want` or later. (A peer is at most one barrier ahead.)
 */
static inline bool myr_epoch_reached(uint32_t seen, uint32_t want)
{
    return (int32_t)(seen - want) >= 0;
}

#ifdef __bpf__

/* In the kernel, groups are under a lock, and a host that sees an epoch done reads nothing else of
 * what was written before. */
static inline void myr_publish(myr_word *word, uint32_t value)
{
    *word = value;
}

static inline uint32_t myr_glance(const myr_word *word)
{
    return *word;
}

#else

/* Make all earlier writes of this process visible to whoever myr_observe()s this value. */
static inline void myr_publish(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* Pairs with myr_publish(), myr_announce() and myr_count(). */
static inline uint32_t myr_observe(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* A look at a word that nobody else writes just now. */
static inline uint32_t myr_glance(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/*
 * Two words, one each way: of two who each announce theirs and then notice the other's, at least
 * one sees what the other has announced.
 */
static inline void myr_announce(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_seq_cst);
}

static inline uint32_t myr_notice(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_seq_cst);
}

/* Add one and return the count before. Releases to, and acquires from, all the others who count. */
static inline uint32_t myr_count(myr_word *word)
{
    return atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
}

/* Functions on a barrier's path: the linker puts them side by side, so that a process which finds
 * its page tables cold has one page of them to look up, not several. */
#define MYR_HOT __attribute__((hot))

/* Tell the processor that this is a polling loop. */
static inline void myr_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#elif defined(__powerpc64__)
    __asm__ __volatile__("or 27,27,27" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

#endif /* not BPF */

#endif
