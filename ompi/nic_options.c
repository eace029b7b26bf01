/* SPDX-License-Identifier: BSD-3-Clause */
/* See nic_options.h. */
#include "ompi/nic_options.h"

#include <limits.h>
#include <stdio.h>

#include "libmyr/messages/port.h"
#include "ompi/number.h"

void nicbarr_nic_options_add(const mca_base_component_t *component,
                             struct nicbarr_nic_options *options)
{
    static const struct {
        const char *name, *help;
        mca_base_var_type_t type;
        size_t at;
        int level;
    } table[] = {
        {"memory",
         "Limit of the shared memory of all processes of a job on one node together (MiB, 16 to "
         "1024). If coll/nicbarr has opened the NIC already, its parameter applies",
         MCA_BASE_VAR_TYPE_INT, offsetof(struct nicbarr_nic_options, memory), OPAL_INFO_LVL_5},
        {"network",
         "Networks or interfaces that the NIC uses, such as \"10.0.0.0/8,eth1\" or \"fd00::/64\" "
         "(default: all but loopback and point-to-point ones). If coll/nicbarr has opened the NIC "
         "already, its parameter "
         "applies",
         MCA_BASE_VAR_TYPE_STRING, offsetof(struct nicbarr_nic_options, network), OPAL_INFO_LVL_2},
        {"port",
         "The NIC's UDP port (0: any). If coll/nicbarr has opened the NIC already, its parameter "
         "applies",
         MCA_BASE_VAR_TYPE_INT, offsetof(struct nicbarr_nic_options, port), OPAL_INFO_LVL_5},
        {"warn",
         "Print a warning if a node to which messages are outstanding has not responded for so "
         "long (seconds). 0: never. The messages wait in any case",
         MCA_BASE_VAR_TYPE_INT, offsetof(struct nicbarr_nic_options, warn), OPAL_INFO_LVL_3},
    };
    *options = (struct nicbarr_nic_options){.memory = 256, .network = (char *)"", .warn = 30};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
        mca_base_component_var_register(component, table[i].name, table[i].help, table[i].type,
                                        NULL, 0, 0, table[i].level, MCA_BASE_VAR_SCOPE_READONLY,
                                        (uint8_t *)options + table[i].at);
    }
}

static bool option_fits(nicbarr_complain_fn complain, const char *component, const char *name,
                        int value, bool may_be_zero, int least, int most)
{
    const struct nicbarr_number number = nicbarr_number_of(component, name, value);
    if (!number.is_number) {
        complain("not used: %s_%s is \"%.40s\", which is not a number", component, name,
                 number.text);
        return false;
    }
    if ((number.value < least || number.value > most) && !(may_be_zero && 0 == number.value)) {
        complain("not used: %s_%s is %lld, but must be from %d to %d", component, name,
                 number.value, least, most);
        return false;
    }
    return true;
}

bool nicbarr_within(nicbarr_complain_fn complain, const char *component, const char *name,
                    int value, int least, int most)
{
    return option_fits(complain, component, name, value, false, least, most);
}

bool nicbarr_zero_or_within(nicbarr_complain_fn complain, const char *component, const char *name,
                            int value, int least, int most)
{
    return option_fits(complain, component, name, value, true, least, most);
}

bool nicbarr_nic_options_fit(nicbarr_complain_fn complain, const char *component,
                             const struct nicbarr_nic_options *options)
{
    return nicbarr_within(complain, component, "memory", options->memory, 16, 1024) &&
           nicbarr_within(complain, component, "port", options->port, 0, 65535) &&
           nicbarr_within(complain, component, "warn", options->warn, 0, INT_MAX);
}

size_t nicbarr_memory_share(size_t shared_bytes)
{
    return shared_bytes / 2 / ((size_t)ompi_process_info.num_local_peers + 1);
}

void nicbarr_nic_lost(char *text, size_t room, const char *framework,
                      const opal_process_name_t *name)
{
    snprintf(text, room,
             "nicbarr: %s myr: a message to process %s was lost, as its port is closed or refuses "
             "it. Has that process ended?",
             framework, OPAL_NAME_PRINT(*name));
}

void nicbarr_nic_not_received(const char *framework, const opal_process_name_t *name)
{
    opal_output(0,
                "nicbarr: %s myr: MPI_Finalize waits, because process %s has not received all "
                "messages from this process. It continues when they are received, or when that "
                "process ends",
                framework, OPAL_NAME_PRINT(*name));
}

void nicbarr_nic_unresponsive(const char *framework, const opal_process_name_t *name,
                              const struct myr_unresponsive *unresponsive)
{
    const opal_proc_t *proc = NULL == name ? NULL : opal_proc_for_name(*name);
    const char *host = NULL == proc ? NULL : opal_get_proc_hostname(proc);
    opal_output(
        0,
        "nicbarr: %s myr: no response from %s (%s%s%s) for %u s. Messages to it continue to "
        "wait. Is the host up, and does the network let UDP pass? Or do its processes compute "
        "without calling MPI, or are they stopped? (With coll/nicbarr, a node answers while its "
        "processes compute)",
        framework, NULL == host ? "a host" : host, unresponsive->address,
        NULL == name ? "" : ", process ", NULL == name ? "" : OPAL_NAME_PRINT(*name),
        unresponsive->silence_s);
}
