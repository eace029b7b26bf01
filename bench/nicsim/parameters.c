/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the parameter files of simulated machines; see parameters.h. */
#include "bench/nicsim/parameters.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parameters and their bounds. Some bounds are necessary, because parameters are used as
 * divisors, and because a switch of a fat tree has at least two ports up and two down. The other
 * bounds only detect typing errors. */
static const struct {
    const char *name;
    size_t offset;
    double least, most;
} parameters[] = {
#define NIC(field, least, most)                                                                    \
    {                                                                                              \
#field, offsetof(struct nicsim_machine, nic.field), least, most                            \
    }
#define MPI(field, least, most)                                                                    \
    {                                                                                              \
#field, offsetof(struct nicsim_machine, field), least, most                                \
    }
    NIC(nic_mhz, 1e-3, 1e6),
    NIC(cycles_loop, 0, 1e6),
    NIC(cycles_look, 0, 1e6),
    NIC(cycles_turn, 0, 1e6),
    NIC(cycles_engine, 0, 1e6),
    NIC(cycles_start, 0, 1e6),
    NIC(cycles_dma, 0, 1e6),
    NIC(copy_most, 0, 1e6),
    NIC(copy_bytes_per_us, 1e-3, 1e9),
    NIC(doorbell_us, 0, 1e6),
    NIC(dma_us, 0, 1e6),
    NIC(dma_bytes_per_us, 1e-3, 1e9),
    NIC(link_bytes_per_us, 1e-3, 1e9),
    NIC(link_header_bytes, 0, 1e6),
    NIC(switch_us, 0, 1e6),
    NIC(cable_us, 0, 1e6),
    NIC(switch_ports, 4, 65536),
    NIC(host_call_us, 0, 1e6),
    NIC(host_return_us, 0, 1e6),
    NIC(slow_from, 0, 65536),
    NIC(slow_factor, 0, 1e6),
    NIC(mtu, MCP_MTU_LEAST, MCP_MTU_MOST),
    NIC(loss, 0, 0.9),
    MPI(mpi_envelope_bytes, 0, NICSIM_ENVELOPE_MOST),
    MPI(mpi_send_us, 0, 1e6),
    MPI(mpi_receive_us, 0, 1e6),
    MPI(mpi_look_us, 0, 1e6),
    MPI(mpi_step_cycles, 0, 1e6),
    MPI(mpi_barrier_us, 0, 1e6),
    MPI(cycles_check, 0, 1e6),
    MPI(cycles_hash, 0, 1e6),
    MPI(eager_most, 256, NICSIM_EAGER_MOST),
    MPI(pin_us, 0, 1e6),
    MPI(create_us, 0, 1e6),
    MPI(create_node_us, 0, 1e6),
#undef NIC
#undef MPI
};

#define COUNT (sizeof(parameters) / sizeof(parameters[0]))
_Static_assert(COUNT <= (size_t)NICSIM_PARAMETERS_MOST, "room for each parameter's source");

const char *nicsim_parameter_name(uint32_t number)
{
    return number < COUNT ? parameters[number].name : NULL;
}

double *nicsim_parameter(struct nicsim_machine *machine, uint32_t number)
{
    return (double *)(void *)((char *)machine + parameters[number].offset);
}

/* Applies the values of a file. Returns false if it names an unknown parameter. */
static bool take_values(const json_t *values, struct nicsim_file *file)
{
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)values, key, entry)
    {
        uint32_t p = 0;
        while (p < COUNT && 0 != strcmp(key, parameters[p].name)) {
            ++p;
        }
        const json_t *value = json_object_get(entry, "value");
        const char *source = json_string_value(json_object_get(entry, "source"));
        if (COUNT == p || !json_is_number(value) || NULL == source) {
            fprintf(stderr, "nicsim: %s: \"%s\" is not a parameter with a value and a source\n",
                    file->path, key);
            return false;
        }
        *nicsim_parameter(&file->machine, p) = json_number_value(value);
        snprintf(file->sources[p].text, sizeof(file->sources[p].text), "%s", source);
        file->sources[p].fitted = json_is_true(json_object_get(entry, "fitted"));
        file->given[p] = true;
    }
    return true;
}

/* Checks that each parameter has a value, within its bounds. */
static bool complete(struct nicsim_file *file)
{
    for (uint32_t p = 0; p < COUNT; ++p) {
        const double value = *nicsim_parameter(&file->machine, p);
        if ('\0' == file->sources[p].text[0]) {
            fprintf(stderr, "nicsim: %s: \"%s\" is missing\n", file->path, parameters[p].name);
            return false;
        }
        if (!(value >= parameters[p].least && value <= parameters[p].most)) {
            fprintf(stderr, "nicsim: %s: \"%s\" must be from %g to %g, not %g\n", file->path,
                    parameters[p].name, parameters[p].least, parameters[p].most, value);
            return false;
        }
    }
    return true;
}

static bool read_it(const char *directory, const char *name, struct nicsim_file *file, int depth)
{
    json_error_t error;
    char path[sizeof(file->path)];
    if (snprintf(path, sizeof(path), "%s/%s.json", directory, name) >= (int)sizeof(path)) {
        fprintf(stderr, "nicsim: the path of machine %s is too long\n", name);
        return false;
    }
    json_t *root = json_load_file(path, 0, &error);
    if (NULL == root) {
        fprintf(stderr, "nicsim: %s:%d: %s\n", path, error.line, error.text);
        return false;
    }
    const char *like = json_string_value(json_object_get(root, "like"));
    const char *title = json_string_value(json_object_get(root, "name"));
    const char *about = json_string_value(json_object_get(root, "about"));
    bool good = depth < 4 && NULL != title && NULL != about;
    if (!good) {
        fprintf(stderr, "nicsim: %s: \"name\" or \"about\" is missing, or \"like\" is circular\n",
                path);
    } else if (NULL == like) {
        memset(file, 0, sizeof(*file));
    } else {
        good = read_it(directory, like, file, depth + 1);
    }
    if (good) {
        memset(file->given, 0, sizeof(file->given));
        snprintf(file->path, sizeof(file->path), "%s", path);
        snprintf(file->machine.name, sizeof(file->machine.name), "%s", title);
        snprintf(file->about, sizeof(file->about), "%s", about);
        good = take_values(json_object_get(root, "parameters"), file);
    }
    json_decref(root);
    return good;
}

bool nicsim_read(const char *directory, const char *name, struct nicsim_file *file)
{
    return read_it(directory, name, file, 0) && complete(file);
}

/* Returns the length of a name without ".json", or 0 if it has another suffix. */
static size_t stem(const char *name)
{
    const size_t length = strlen(name), end = strlen(".json");
    return length > end && 0 == strcmp(name + length - end, ".json") ? length - end : 0;
}

static int is_machine(const struct dirent *entry)
{
    return 0 < stem(entry->d_name);
}

/* Prints the machines in the directory. Returns false if there are none. */
static bool name_machines(const char *dir, const char *wanted)
{
    struct dirent **list;
    const int count = scandir(dir, &list, is_machine, alphasort);
    if (count > 0) {
        fprintf(stderr, "nicsim: there is no machine '%s' in %s; there are:", wanted, dir);
        for (int i = 0; i < count; ++i) {
            fprintf(stderr, "%s %.*s", 0 == i ? "" : ",", (int)stem(list[i]->d_name),
                    list[i]->d_name);
            free(list[i]);
        }
        fputc('\n', stderr);
    }
    if (count >= 0) {
        free(list);
    }
    return count > 0;
}

bool nicsim_read_machine(const char *data, const char *name, struct nicsim_file *file)
{
    char dir[sizeof(file->path)], path[sizeof(file->path) + sizeof(".json") + NAME_MAX];
    snprintf(dir, sizeof(dir), "%s/machines", data);
    snprintf(path, sizeof(path), "%s/%.*s.json", dir, NAME_MAX, name);
    const bool missing = 0 != access(path, F_OK) && ENOENT == errno;
    return !(missing && name_machines(dir, name)) && nicsim_read(dir, name, file);
}

bool nicsim_update(const struct nicsim_file *file)
{
    json_error_t error;
    json_t *root = json_load_file(file->path, 0, &error);
    json_t *values = json_object_get(root, "parameters");
    for (uint32_t p = 0; p < COUNT; ++p) {
        json_t *entry = json_object_get(values, parameters[p].name);
        if (NULL != entry && file->sources[p].fitted) {
            struct nicsim_machine machine = file->machine;
            json_object_set_new(entry, "value", json_real(*nicsim_parameter(&machine, p)));
        }
    }
    const bool good = NULL != root && 0 == json_dump_file(root, file->path,
                                                          JSON_INDENT(4) | JSON_REAL_PRECISION(5));
    if (!good) {
        fprintf(stderr, "nicsim: %s could not be written\n", file->path);
    }
    json_decref(root);
    return good;
}
