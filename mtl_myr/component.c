/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that Open MPI loads: parameters, opening and closing.
 *
 * The component is used only if the user has requested it with `--mca mtl myr`. If it cannot open
 * the NIC, it prints a warning, and Open MPI selects another PML. */
#include "mtl_myr/mtl_myr.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/node/segment.h"
#include "ompi/modex.h"
#include "ompi/node.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
static int component_query(mca_base_module_t **module, int *priority);
static mca_mtl_base_module_t *init_module(void);
static int add_comm(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
static int del_comm(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
static int finalize(mca_mtl_base_module_t *mtl);

enum {
    PRIORITY = 90,                /* higher than all PMLs, because the user has requested it */
    CONTEXT_MOST = (1 << 30) - 1, /* maximum number of a communicator */
    /* greater tags are internal to Open MPI, and negative as an int */
    TAG_MOST = 0x7fffffff,
    /* chunk of a message that is read at a time, by the progress thread or the host; takes 7 us */
    CHUNK_BYTES = 64 * 1024,
};

NICBARR_MTL_INIT(component_init, init_module)

mca_mtl_myr_component_t mca_mtl_myr_component = {
    .super =
        {
            .mtl_version =
                {
                    MCA_MTL_BASE_VERSION_2_0_0,
                    .mca_component_name = "myr",
                    MCA_BASE_MAKE_VERSION(component, NICBARR_MAJOR, NICBARR_MINOR, NICBARR_RELEASE),
                    .mca_open_component = component_open,
                    .mca_close_component = component_close,
                    .mca_query_component = component_query,
                    .mca_register_component_params = component_register,
                },
            .mtl_data = {MCA_BASE_METADATA_PARAM_NONE},
            .mtl_init = component_init,
        },
};

mca_mtl_base_module_t mca_mtl_myr_module = {
    .mtl_max_contextid = CONTEXT_MOST,
    .mtl_max_tag = TAG_MOST,
    .mtl_request_size = sizeof(struct mca_mtl_myr_request),
    .mtl_add_procs = mca_mtl_myr_add_procs,
    .mtl_del_procs = mca_mtl_myr_del_procs,
    .mtl_finalize = finalize,
    .mtl_send = mca_mtl_myr_send,
    .mtl_isend = mca_mtl_myr_isend,
    .mtl_irecv = mca_mtl_myr_irecv,
    .mtl_iprobe = mca_mtl_myr_iprobe,
    .mtl_imrecv = mca_mtl_myr_imrecv,
    .mtl_improbe = mca_mtl_myr_improbe,
    .mtl_cancel = mca_mtl_myr_cancel,
    .mtl_add_comm = add_comm,
    .mtl_del_comm = del_comm,
};

/* ---- parameters ---- */

static void register_mtl_parameter(const char *name, mca_base_var_type_t type, void *value,
                                   const char *help, int level)
{
    mca_base_component_var_register(&mca_mtl_myr_component.super.mtl_version, name, help, type,
                                    NULL, 0, 0, level, MCA_BASE_VAR_SCOPE_READONLY, value);
}

static int component_register(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    component->parameters.buffers = 0;
    component->parameters.messages = 16384;
    component->parameters.direct = true;
    component->parameters.runner = false;
    nicbarr_nic_options_add(&component->super.mtl_version, &component->parameters.nic);
    register_mtl_parameter(
        "buffers", MCA_BASE_VAR_TYPE_INT, &component->parameters.buffers,
        "Number of buffers of 32 KiB that a process has for incoming messages; for outgoing ones "
        "it "
        "has half as many (8 to 4096; 0: up to 64, fewer if the node has many processes)",
        OPAL_INFO_LVL_5);
    register_mtl_parameter(
        "messages", MCA_BASE_VAR_TYPE_INT, &component->parameters.messages,
        "Maximum number of unexpected messages from one process that another one queues (1 to "
        "65535; fewer in jobs of many processes, so that all together queue half a million). "
        "Further ones wait at their sender until a receive matches one of them",
        OPAL_INFO_LVL_5);
    register_mtl_parameter(
        "direct", MCA_BASE_VAR_TYPE_BOOL, &component->parameters.direct,
        "Whether long messages within a node are read from their sender's memory, if the system "
        "permits that (default: yes)",
        OPAL_INFO_LVL_5);
    register_mtl_parameter(
        "runner", MCA_BASE_VAR_TYPE_BOOL, &component->parameters.runner,
        "Whether a progress thread in each process matches and transfers messages while the "
        "process computes (default: no). It needs a CPU of its own",
        OPAL_INFO_LVL_2);
    mca_mtl_myr_pvars_register();
    return OMPI_SUCCESS;
}

/* Prints a warning in only one process of the node, because all of them find the same problem. */
static void print_mtl_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_mtl_warning(const char *format, ...)
{
    if (0 == ompi_process_info.my_local_rank) {
        char text[400];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        opal_output(0, "nicbarr: mtl myr: %s", text);
    }
}

static bool check_parameters(void)
{
    const mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    return nicbarr_nic_options_fit(print_mtl_warning, "mtl_myr",
                                   &mca_mtl_myr_component.parameters.nic) &&
           nicbarr_zero_or_within(print_mtl_warning, "mtl_myr", "buffers",
                                  component->parameters.buffers, 8, 4096) &&
           nicbarr_within(print_mtl_warning, "mtl_myr", "messages", component->parameters.messages,
                          1, 65535);
}

/* ---- opening and closing ---- */

/* This does not use print_mtl_warning(), which may wait for the same lock of the segment. */
static void print_waiting(const char *line)
{
    opal_output(0, "nicbarr: mtl myr: %s", line);
}

static int component_open(void)
{
    if (!nicbarr_asked_for(ompi_mtl_base_framework.framework_selection, "myr")) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    const char *wrong = nicbarr_wrong_release();
    if (NULL != wrong) {
        print_mtl_warning("%s", wrong);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    myr_segment_print = print_waiting;
    return OMPI_SUCCESS;
}

static int component_query(mca_base_module_t **module, int *priority)
{
    *module = (mca_base_module_t *)&mca_mtl_myr_module;
    *priority = PRIORITY;
    return OMPI_SUCCESS;
}

static enum myr_status open_endpoint(struct myr_error *error)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    const struct myr_soft_options below = {.network = component->parameters.nic.network,
                                           .port = (uint16_t)component->parameters.nic.port};
    char *dir = nicbarr_node_dir();
    enum myr_status status = myr_soft_open_in(dir, (uint32_t)component->parameters.nic.memory << 20,
                                              &below, &component->segment, &component->nic, error);
    free(dir);
    if (MYR_OK != status) {
        return status;
    }
    const struct myr_tagged_options options = {
        .id = mca_mtl_myr_id(OMPI_PROC_MY_NAME),
        .messages = (uint32_t)component->parameters.messages,
        /* half of these peers are reserved for jobs to which it connects later */
        .peers = 2 * ompi_process_info.num_procs,
        .buffers = (uint32_t)component->parameters.buffers,
        .share = nicbarr_memory_share(myr_segment_size(component->segment)),
        .direct = component->parameters.direct,
        .watch = true,
        .chunk_bytes = component->parameters.runner ? CHUNK_BYTES : 0,
        .meet = mca_mtl_myr_meet,
        .lost = mca_mtl_myr_lost,
    };
    status = myr_tagged_open(component->nic, &options, &component->endpoint, error);
    if (MYR_OK != status) {
        component->endpoint = NULL;
    }
    return status;
}

static void close_endpoint(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    if (NULL != component->endpoint) {
        myr_tagged_close(component->endpoint);
    }
    if (NULL != component->nic) {
        myr_soft_close(component->nic);
    }
    if (NULL != component->segment) {
        myr_segment_leave(component->segment);
    }
    component->endpoint = NULL;
    component->nic = NULL;
    component->segment = NULL;
}

static int publish_address(void)
{
    struct myr_tagged_name name;
    myr_tagged_get_name(mca_mtl_myr_component.endpoint, &name);
    return nicbarr_modex_put(&mca_mtl_myr_component.super.mtl_version, &name, sizeof(name));
}

static opal_progress_callback_t progress_function(void)
{
    return mca_mtl_myr_component.parameters.runner ? mca_mtl_myr_progress_beside_runner
                                                   : mca_mtl_myr_progress;
}

static mca_mtl_base_module_t *init_module(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct myr_error error = {0};
    if (!check_parameters()) {
        return NULL;
    }
    component->met = 0;
    component->runner_bytes = 0;
    component->peers = MYR_DRAIN_THIS_NODE;
    component->silence = (struct myr_seldom){0};
    if (MYR_OK != open_endpoint(&error)) {
        print_mtl_warning("not used: %s", error.text);
        close_endpoint();
        return NULL;
    }
    if (OMPI_SUCCESS != publish_address()) {
        close_endpoint();
        return NULL;
    }
    OBJ_CONSTRUCT(&component->lock, opal_mutex_t);
    if (component->parameters.runner && OMPI_SUCCESS != mca_mtl_myr_runner_start()) {
        print_mtl_warning("cannot create the progress thread (mtl_myr_runner): messages progress "
                          "only during MPI calls");
    }
    opal_progress_register(progress_function());
    return &mca_mtl_myr_module;
}

/* Communicators need no state: an envelope contains only their number. */
static int add_comm(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
    (void)mtl;
    (void)comm;
    return OMPI_SUCCESS;
}

static int del_comm(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
    (void)mtl;
    (void)comm;
    return OMPI_SUCCESS;
}

static int finalize(mca_mtl_base_module_t *mtl)
{
    (void)mtl;
    if (NULL != mca_mtl_myr_component.endpoint) {
        opal_progress_unregister(progress_function());
        mca_mtl_myr_runner_stop();
        mca_mtl_myr_drain();
        close_endpoint();
        OBJ_DESTRUCT(&mca_mtl_myr_component.lock);
    }
    return OMPI_SUCCESS;
}

static int component_close(void)
{
    return OMPI_SUCCESS;
}
