/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an atomic operation does to a word of this process's memory.
 *
 * Each is one step for all processors. So a word may be shared with processes that work on it by
 * instructions of their own: those of this node that have mapped it, as osc/rdma does.
 */
#include "btl_myr/btl_myr.h"

/*
 * osc/rdma does not say whether a number has a sign. So the least and the greatest of two are not
 * known here, and neither are floating-point numbers. osc/rdma computes these itself, and keeps
 * others away from the word meanwhile.
 */
bool mca_btl_myr_atomic_is_known(mca_btl_base_atomic_op_t operation, int flags)
{
    return MCA_BTL_ATOMIC_MIN != operation && MCA_BTL_ATOMIC_MAX != operation &&
           0 == (flags & MCA_BTL_ATOMIC_FLAG_FLOAT);
}

/* A logical operation on what is there, `old`. */
static uint64_t logical(uint8_t operation, bool old, bool operand)
{
    switch (operation) {
    case MCA_BTL_ATOMIC_LAND:
        return old && operand;
    case MCA_BTL_ATOMIC_LOR:
        return old || operand;
    default:
        return old != operand;
    }
}

/* The function of that name for words of `type`. */
#define DO(name, type)                                                                             \
    static type name(type *word, const struct mca_btl_myr_atomic *atomic)                          \
    {                                                                                              \
        const type operand = (type)atomic->operand;                                                \
        type old = (type)atomic->compare;                                                          \
        switch (atomic->operation) {                                                               \
        case MCA_BTL_ATOMIC_ADD:                                                                   \
            return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);                            \
        case MCA_BTL_ATOMIC_AND:                                                                   \
            return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);                            \
        case MCA_BTL_ATOMIC_OR:                                                                    \
            return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);                             \
        case MCA_BTL_ATOMIC_XOR:                                                                   \
            return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);                            \
        case MCA_BTL_ATOMIC_SWAP:                                                                  \
            return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);                           \
        case MCA_BTL_MYR_COMPARE_AND_SWAP:                                                         \
            (void)__atomic_compare_exchange_n(word, &old, operand, false, __ATOMIC_SEQ_CST,        \
                                              __ATOMIC_SEQ_CST);                                   \
            return old;                                                                            \
        default:                                                                                   \
            old = __atomic_load_n(word, __ATOMIC_RELAXED);                                         \
            while (!__atomic_compare_exchange_n(                                                   \
                word, &old, (type)logical(atomic->operation, 0 != old, 0 != operand), false,       \
                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {                                             \
            }                                                                                      \
            return old;                                                                            \
        }                                                                                          \
    }
DO(do_half, uint32_t)
DO(do_whole, uint64_t)

uint64_t mca_btl_myr_atomic_do(uint64_t address, const struct mca_btl_myr_atomic *atomic)
{
    void *word = (void *)(uintptr_t)address;
    return atomic->half ? do_half(word, atomic) : do_whole(word, atomic);
}
