/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that Open MPI loads: parameters, opening and closing.
 *
 * Every job that uses nicbarr finds this component, but it must serve only jobs that have requested
 * it. Therefore it declines before any other action, unless `--mca btl` names it. If it is named
 * but cannot open the NIC, it prints a warning once and leaves the messages to other BTLs. */
#include "btl_myr/btl_myr.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/modex.h"
#include "ompi/node.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
static mca_btl_base_module_t **component_init(int *count, bool progress_threads, bool mpi_threads);

mca_btl_myr_component_t mca_btl_myr_component = {
    .super =
        {
            .btl_version =
                {
                    NICBARR_BTL_VERSION,
                    .mca_component_name = "myr",
                    MCA_BASE_MAKE_VERSION(component, NICBARR_MAJOR, NICBARR_MINOR, NICBARR_RELEASE),
                    .mca_open_component = component_open,
                    .mca_close_component = component_close,
                    .mca_register_component_params = component_register,
                },
            .btl_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
            .btl_init = component_init,
            .btl_progress = mca_btl_myr_progress,
        },
};

enum {
    MESSAGE_NO_NIC = 0x6d7972 /* key of the segment's flag that the warning was printed: "myr" */
};

/* ---- parameters ---- */

static void register_btl_parameter(const char *name, mca_base_var_type_t type, void *value,
                                   const char *help, int level)
{
    mca_base_component_var_register(&mca_btl_myr_component.super.btl_version, name, help, type,
                                    NULL, 0, 0, level, MCA_BASE_VAR_SCOPE_READONLY, value);
}

/* Limits are such that a message with its header fills a power of two. */
static void set_defaults(void)
{
    mca_btl_base_module_t *direct = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    const size_t header = sizeof(struct mca_btl_myr_header);
    direct->btl_exclusivity = MCA_BTL_MYR_EXCLUSIVITY;
    direct->btl_eager_limit = 4096 - header;
    direct->btl_rndv_eager_limit = 4096 - header;
    direct->btl_max_send_size = 32768 - header;
    direct->btl_min_rdma_pipeline_size = SIZE_MAX; /* this module has no put */
    direct->btl_rdma_pipeline_frag_size = SIZE_MAX;
    direct->btl_latency = MCA_BTL_MYR_LATENCY;
    direct->btl_bandwidth = MCA_BTL_MYR_BANDWIDTH;
    direct->btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_GET;
    mca_btl_myr_component.parameters.tokens = 0;
    mca_btl_myr_component.parameters.buffers = 0;
    mca_btl_myr_component.parameters.inlet = true;
    mca_btl_myr_component.parameters.far_eager_limit = 32768 - header;
}

static int component_register(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    set_defaults();
    nicbarr_nic_options_add(&component->super.btl_version, &component->parameters.nic);
    register_btl_parameter("tokens", MCA_BASE_VAR_TYPE_INT, &component->parameters.tokens,
                           "Number of send buffers of a process for messages of up to "
                           "btl_myr_eager_limit (8 to 4096; 0: up to 128, fewer if the node has "
                           "many processes). A receiver that makes no MPI calls occupies at most "
                           "three quarters of them",
                           OPAL_INFO_LVL_5);
    register_btl_parameter(
        "buffers", MCA_BASE_VAR_TYPE_INT, &component->parameters.buffers,
        "Number of receive buffers of a process (8 to 4096; 0: up to 64, fewer if the node has "
        "many "
        "processes), each of which holds the largest message (btl_myr_max_send_size)",
        OPAL_INFO_LVL_5);
    register_btl_parameter(
        "inlet", MCA_BASE_VAR_TYPE_BOOL, &component->parameters.inlet,
        "Whether short messages between processes of a node bypass the NIC (default: yes)",
        OPAL_INFO_LVL_5);
    register_btl_parameter(
        "far_eager_limit", MCA_BASE_VAR_TYPE_SIZE_T, &component->parameters.far_eager_limit,
        "The eager limit for processes whose memory cannot be read, such as those on other nodes "
        "(bytes, up to btl_myr_max_send_size)",
        OPAL_INFO_LVL_4);
    mca_btl_base_param_register(&component->super.btl_version,
                                &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super);
    return OPAL_SUCCESS;
}

/* Prints a warning in only one process of the node, because all processes encounter the same
 * problem. The exception is a process that could not join the segment: this problem may affect only
 * this process, whose job then fails without the BTL, so it always prints the warning. */
static void print_btl_warning(const char *format, ...)
{
    const mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const bool speak = NULL != component->segment
                           ? myr_kv_add(component->segment, MESSAGE_NO_NIC, 1)
                           : component->alone || 0 == ompi_process_info.my_local_rank;
    if (speak) {
        char text[400];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        opal_output(0, "nicbarr: btl myr: %s", text);
    }
}

static bool check_parameters(void)
{
    const mca_btl_base_module_t *direct = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    const size_t far = mca_btl_myr_component.parameters.far_eager_limit;
    /* The smallest message must hold ob1's largest header. */
    if (direct->btl_eager_limit < 256 || direct->btl_max_send_size < direct->btl_eager_limit ||
        far < 256 || far > direct->btl_max_send_size || direct->btl_max_send_size > 4 << 20) {
        print_btl_warning(
            "not used: btl_myr_eager_limit and btl_myr_far_eager_limit must be between 256 and "
            "btl_myr_max_send_size, and that must be at most 4 MiB");
        return false;
    }
    return nicbarr_nic_options_fit(print_btl_warning, "btl_myr",
                                   &mca_btl_myr_component.parameters.nic) &&
           nicbarr_zero_or_within(print_btl_warning, "btl_myr", "tokens",
                                  mca_btl_myr_component.parameters.tokens, 8, 4096) &&
           nicbarr_zero_or_within(print_btl_warning, "btl_myr", "buffers",
                                  mca_btl_myr_component.parameters.buffers, 8, 4096);
}

/* ---- opening and closing ---- */

/* Does not use print_btl_warning(), which may wait for the same lock of the segment. */
static void print_waiting(const char *line)
{
    opal_output(0, "nicbarr: btl myr: %s", line);
}

static int component_open(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (!nicbarr_asked_for(opal_btl_base_framework.framework_selection, "myr")) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    const char *wrong = nicbarr_wrong_release();
    if (NULL != wrong) {
        print_btl_warning("%s", wrong);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    /* The library stays loaded when the component is closed, so the structure may contain the state
     * of an earlier opening. */
    const size_t parameters_end = offsetof(mca_btl_myr_component_t, asked_for);
    memset((uint8_t *)component + parameters_end, 0, sizeof(*component) - parameters_end);
    OBJ_CONSTRUCT(&component->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->table_lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->waiting, opal_list_t);
    OBJ_CONSTRUCT(&component->sent, opal_list_t);
    OBJ_CONSTRUCT(&component->asking, opal_list_t);
    OBJ_CONSTRUCT(&component->spare_tasks, opal_free_list_t);
    component->asked_for = true;
    myr_segment_print = print_waiting;
    return OPAL_SUCCESS;
}

static enum myr_status open_nic(struct myr_error *error)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const struct myr_soft_options options = {.network = component->parameters.nic.network,
                                             .port = (uint16_t)component->parameters.nic.port};
    char *dir = nicbarr_node_dir();
    const enum myr_status status =
        myr_soft_open_in(dir, (uint32_t)component->parameters.nic.memory << 20, &options,
                         &component->segment, &component->nic, error);
    free(dir);
    component->alone = NULL == component->segment;
    return status;
}

static enum myr_status open_port(struct myr_error *error)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const struct myr_port_options options = {
        .number = MYR_ANY_PORT,
        .send_tokens = mca_btl_myr_tokens(),
        .receive_tokens = (uint32_t)component->parameters.buffers,
        .inlet = component->parameters.inlet,
        .watch = true,
    };
    enum myr_status status = myr_port_open(component->nic, &options, &component->port, error);
    if (MYR_OK != status) {
        component->port = NULL;
        return status;
    }
    component->intake = myr_port_intake(component->port);
    return mca_btl_myr_memory_open(error);
}

static int publish_address(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    myr_port_get_name(component->port, &component->self.port);
    if (mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super.btl_flags & MCA_BTL_FLAGS_GET) {
        myr_direct_describe(&component->self.direct);
    }
    return nicbarr_modex_put(&component->super.btl_version, &component->self,
                             sizeof(component->self));
}

/* The copying module sends all data in fragments, for processes whose memory this process cannot
 * access. It is a copy of the module for direct access without the operations that need this
 * access, so limits that the user has set apply to both. */
static void make_copying_module(void)
{
    mca_btl_base_module_t *copying = &mca_btl_myr_module[MCA_BTL_MYR_COPYING].super;
    *copying = mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    copying->btl_flags &= ~(uint32_t)MCA_BTL_FLAGS_RDMA;
    copying->btl_get = NULL;
    copying->btl_eager_limit = mca_btl_myr_component.parameters.far_eager_limit;
    copying->btl_rndv_eager_limit = copying->btl_eager_limit;
}

static void make_onesided_module(void)
{
    mca_btl_base_module_t *onesided = &mca_btl_myr_module[MCA_BTL_MYR_ONESIDED].super;
    *onesided = mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    mca_btl_myr_onesided_open(onesided);
}

static mca_btl_base_module_t **component_init(int *count, bool progress_threads, bool mpi_threads)
{
    (void)progress_threads;
    (void)mpi_threads;
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct myr_error error = {0};
    *count = 0;
    if (!check_parameters()) {
        return NULL;
    }
    memset(&component->self, 0, sizeof(component->self));
    component->self.buffer_bytes =
        (uint32_t)(sizeof(struct mca_btl_myr_header) +
                   mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super.btl_max_send_size);
    if (MYR_OK != open_nic(&error) || MYR_OK != open_port(&error)) {
        print_btl_warning("not used: %s", error.text);
        return NULL;
    }
    make_copying_module();
    make_onesided_module();
    mca_btl_base_module_t **modules = calloc(MCA_BTL_MYR_MODULES, sizeof(*modules));
    if (NULL == modules || OMPI_SUCCESS != publish_address()) {
        free(modules);
        return NULL;
    }
    for (int m = 0; m < MCA_BTL_MYR_MODULES; ++m) {
        modules[m] = &mca_btl_myr_module[m].super;
    }
    *count = MCA_BTL_MYR_MODULES;
    return modules;
}

static int component_close(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (!component->asked_for) {
        return OPAL_SUCCESS;
    }
    component->asked_for = false;
    if (NULL != component->port) {
        mca_btl_myr_drain();
    }
    mca_btl_myr_backlog_close();
    mca_btl_myr_onesided_close();
    mca_btl_myr_endpoints_free();
    mca_btl_myr_memory_close();
    if (NULL != component->port) {
        myr_port_close(component->port);
    }
    if (NULL != component->nic) {
        myr_soft_close(component->nic);
    }
    /* A process that could not open the NIC stays attached to the segment. If it detached, the
     * segment might be freed, and with it the flag that the warning was printed, before the other
     * processes of the node have checked this flag. */
    if (NULL != component->segment && NULL != component->nic) {
        myr_segment_leave(component->segment);
    }
    component->port = NULL;
    component->nic = NULL;
    component->segment = NULL;
    OBJ_DESTRUCT(&component->spare_tasks);
    OBJ_DESTRUCT(&component->asking);
    OBJ_DESTRUCT(&component->sent);
    OBJ_DESTRUCT(&component->waiting);
    OBJ_DESTRUCT(&component->table_lock);
    OBJ_DESTRUCT(&component->lock);
    return OPAL_SUCCESS;
}
