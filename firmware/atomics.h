/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared words and epochs: the only atomics nicbarr uses.
 *
 * Every word in memory that processes share is a myr_word. It has one writer (except counters).
 * Only these helpers touch it. Each helper's comment names the helper that it pairs with.
 */
#ifndef MYR_ATOMICS_H
#define MYR_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __bpf__
typedef volatile uint32_t myr_word; /* it has no other atomics than counters */
#else
#include <stdatomic.h>
typedef _Atomic uint32_t myr_word;
#endif

/* x86 fetches two neighbouring 64-byte lines as a pair. So independent words keep this distance
 * (bytes). */
#define MYR_LINE 128

/* So many bytes, and what is missing to whole lines. */
static inline size_t myr_whole_lines(size_t bytes)
{
    return (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE;
}

/*
 * Epochs count the collectives a group has done. They wrap around. For two epochs less than 2^31
 * apart this tells whether `seen` is `want` or later. (A peer is at most one barrier ahead.)
 */
static inline bool myr_epoch_reached(uint32_t seen, uint32_t want)
{
    return (int32_t)(seen - want) >= 0;
}

#ifdef __bpf__

/* In the kernel, a lock protects each group. A host that sees an epoch done reads nothing else that
 * was written before it. */
static inline void myr_store_release(myr_word *word, uint32_t value)
{
    *word = value;
}

static inline uint32_t myr_load_relaxed(const myr_word *word)
{
    return *word;
}

#else

/* Make all earlier writes of this process visible to all who myr_load_acquire() this value. */
static inline void myr_store_release(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* Pairs with myr_store_release(), myr_store_seq_cst() and myr_fetch_add(). */
static inline uint32_t myr_load_acquire(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* Look at a word that nobody else writes just now. */
static inline uint32_t myr_load_relaxed(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/*
 * Two sides have a word each. Each side announces its own word and then notices the other's. At
 * least one of them sees the other's new value.
 */
static inline void myr_store_seq_cst(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_seq_cst);
}

static inline uint32_t myr_load_seq_cst(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_seq_cst);
}

/* Add one and return the count before. It releases to all others who count, and acquires from
 * them. */
static inline uint32_t myr_fetch_add(myr_word *word)
{
    return atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
}

/* Functions on a barrier's path. The linker puts them side by side. A process with cold page tables
 * then looks up one page for them, not several. */
#define MYR_HOT __attribute__((hot))

/* Tell the processor that this is a polling loop. */
static inline void myr_cpu_relax(void)
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
