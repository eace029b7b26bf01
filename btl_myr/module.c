/* SPDX-License-Identifier: BSD-3-Clause */
/* The modules: adding peers, reporting errors, and finalization.
 *
 * Open MPI asks every module which processes it can reach. The module for windows accepts all
 * processes. For messages, each process is accepted by only one module, which the process's
 * endpoint records. */
#include "btl_myr/btl_myr.h"

#include <stdio.h>
#include <stdlib.h>

static int add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                     struct mca_btl_base_endpoint_t **endpoints, struct opal_bitmap_t *reachable)
{
    const int self = (int)((struct mca_btl_myr_module *)btl - mca_btl_myr_module);
    for (size_t p = 0; p < count; ++p) {
        endpoints[p] = NULL;
        struct mca_btl_base_endpoint_t *endpoint =
            mca_btl_myr_endpoint_of(procs[p], MCA_BTL_MYR_ONESIDED == self);
        if (NULL == endpoint || self != endpoint->module) {
            continue;
        }
        if (NULL != reachable && OPAL_SUCCESS != opal_bitmap_set_bit(reachable, (int)p)) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        endpoint->proc = procs[p];
        endpoint->left = false;
        endpoints[p] = endpoint;
    }
    return OPAL_SUCCESS;
}

/* The endpoint is kept, because messages in flight use it, and the process may be added again. */
static int del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                     struct mca_btl_base_endpoint_t **endpoints)
{
    const bool for_windows = btl == &mca_btl_myr_module[MCA_BTL_MYR_ONESIDED].super;
    (void)procs;
    for (size_t p = 0; p < count; ++p) {
        if (NULL == endpoints[p]) {
            continue;
        }
        if (for_windows) {
            endpoints[p]->left = true;
        } else {
            endpoints[p]->proc = NULL;
        }
        endpoints[p] = NULL;
    }
    return OPAL_SUCCESS;
}

static int register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t callback)
{
    ((struct mca_btl_myr_module *)btl)->error = callback;
    return OPAL_SUCCESS;
}

static int finalize(mca_btl_base_module_t *btl)
{
    ((struct mca_btl_myr_module *)btl)->error = NULL;
    return OPAL_SUCCESS;
}

/* Prints the error, and has ob1 abort the job. */
static void report_fatal_error(struct mca_btl_myr_module *module, opal_proc_t *proc, char *text)
{
    opal_output(0, "%s", text);
    if (NULL != module->error) {
        module->error(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, proc, text);
    }
}

void mca_btl_myr_lost(const struct mca_btl_base_endpoint_t *endpoint)
{
    char text[400];
    if (endpoint->left) {
        return;
    }
    nicbarr_nic_lost(text, sizeof(text), "btl", &endpoint->name);
    report_fatal_error(&mca_btl_myr_module[endpoint->module], endpoint->proc, text);
}

void mca_btl_myr_no_answer(const opal_process_name_t *to)
{
    char text[200];
    snprintf(text, sizeof(text),
             "nicbarr: btl myr: a one-sided operation (MPI window) of process %s cannot be "
             "answered: the process cannot be reached, or memory is exhausted",
             OPAL_NAME_PRINT(*to));
    report_fatal_error(&mca_btl_myr_module[MCA_BTL_MYR_ONESIDED], NULL, text);
}

void mca_btl_myr_broken(void)
{
    static char text[160];
    const uint32_t stopped = myr_soft_given_up(mca_btl_myr_component.nic);
    if (0 != stopped) {
        snprintf(
            text, sizeof(text),
            "nicbarr: btl myr: messages cannot be sent any more: process %u runs the node's NIC, "
            "but makes no progress (is it stopped?)",
            (unsigned)stopped);
    } else {
        snprintf(
            text, sizeof(text),
            "nicbarr: btl myr: messages cannot be sent any more: a process was killed while it "
            "ran the node's NIC");
    }
    struct mca_btl_myr_module *module = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT];
    if (NULL == module->error) {
        module = &mca_btl_myr_module[MCA_BTL_MYR_COPYING];
    }
    report_fatal_error(module, NULL, text);
}

struct mca_btl_myr_module mca_btl_myr_module[MCA_BTL_MYR_MODULES] = {
    [MCA_BTL_MYR_DIRECT].super =
        {
            .btl_component = &mca_btl_myr_component.super,
            .btl_add_procs = add_procs,
            .btl_del_procs = del_procs,
            .btl_finalize = finalize,
            .btl_alloc = mca_btl_myr_alloc,
            .btl_free = mca_btl_myr_free,
            .btl_prepare_src = mca_btl_myr_prepare_src,
            .btl_send = mca_btl_myr_send,
            .btl_sendi = mca_btl_myr_sendi,
            .btl_get = mca_btl_myr_get,
            .btl_dump = mca_btl_base_dump,
            .btl_register_error = register_error,
        },
};
