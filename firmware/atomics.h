/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared words and epochs, which are the only atomics that nicbarr uses.
 *
 * Every word in memory that processes share has the type myr_word. Except for counters, each word
 * has only one writer. Words are accessed only by the helpers in this file; the comment of each
 * helper names the helper that it pairs with. */
#ifndef MYR_ATOMICS_H
#define MYR_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __bpf__
typedef volatile uint32_t myr_word; /* BPF has atomic operations for counters only */
#else
#include <stdatomic.h>
typedef _Atomic uint32_t myr_word;
#endif

/* The distance between independent words (bytes). It is larger than a cache line, because x86
 * prefetches neighbouring lines of 64 bytes in pairs. */
#define MYR_LINE 128

/* Rounds up to a multiple of MYR_LINE. */
static inline size_t myr_whole_lines(size_t bytes)
{
    return (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE;
}

/* Epochs number the collectives of a group, and wrap around. Returns true if the epoch `seen` is
 * `want` or later. The two must differ by less than 2^31, which is always the case, because a peer
 * is at most one barrier ahead. */
static inline bool myr_epoch_reached(uint32_t seen, uint32_t want)
{
    return (int32_t)(seen - want) >= 0;
}

#ifdef __bpf__

/* In the kernel, plain accesses suffice: a spin lock protects each group against other CPUs, and
 * hosts, which do not take this lock, read only the number of the completed epoch and no data that
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

/* Makes all earlier writes of this process visible to each process that reads this value with
 * myr_load_acquire(). */
static inline void myr_store_release(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* Pairs with myr_store_release(), myr_store_seq_cst() and myr_fetch_add(). */
static inline uint32_t myr_load_acquire(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* For a word that has no other writer at present, or whose value orders nothing. */
static inline uint32_t myr_load_relaxed(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* For two processes, each of which stores its own word and then loads the other's word. Sequential
 * consistency guarantees that at least one of them sees the new value of the other. */
static inline void myr_store_seq_cst(myr_word *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_seq_cst);
}

static inline uint32_t myr_load_seq_cst(const myr_word *word)
{
    return atomic_load_explicit(word, memory_order_seq_cst);
}

/* Adds one and returns the previous count. Each addition acquires from all earlier additions, and
 * releases to all later ones. */
static inline uint32_t myr_fetch_add(myr_word *word)
{
    return atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
}

/* Marks the functions on a barrier's path. The linker places them together, so that a process with
 * a cold TLB takes one miss for all of them. */
#define MYR_HOT __attribute__((hot))

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
