/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of a NIC's settings, "NAME=VALUE NAME=VALUE", by its table of options (libmyr/option.h).
 */
#include <stdlib.h>
#include <string.h>

#include "myr/inside.h"

static bool read_number(const struct myr_option *option, const char *text, int least, int most,
                        int *number, char *why)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || '\0' != *end || value < least || value > most) {
        return myr_refuse(why, "%s=%.40s: must be a number from %d to %d", option->name, text,
                          least, most);
    }
    *number = (int)value;
    return true;
}

static bool read_value(const struct myr_option *option, char *text, union myr_value *value,
                       char *why)
{
    int flag = 0;
    bool good = true;
    switch (option->type) {
    case MYR_OPTION_NUMBER:
        good = read_number(option, text, option->least, option->most, &value->number, why);
        break;
    case MYR_OPTION_FLAG:
        good = read_number(option, text, 0, 1, &flag, why);
        value->flag = 0 != flag;
        break;
    case MYR_OPTION_TEXT:
        value->text = text;
        break;
    }
    return good;
}

static bool read_one(const struct myr_nic_kind *kind, char *setting, union myr_value *values,
                     char *why)
{
    char *equals = strchr(setting, '=');
    uint32_t o = 0;
    if (NULL != equals) {
        *equals = '\0';
        while (NULL != kind->options[o].name && 0 != strcmp(kind->options[o].name, setting)) {
            ++o;
        }
    }
    if (NULL == equals || NULL == kind->options[o].name) {
        return myr_refuse(why, "%s has no setting \"%.40s\" (a setting is NAME=VALUE)", kind->title,
                          setting);
    }
    return read_value(&kind->options[o], equals + 1, &values[o], why);
}

bool myr_settings_read(struct myr_host *host, const char *settings, char *why)
{
    const struct myr_nic_kind *kind = nicbarr_kind(host->nic);
    union myr_value *values = host->nics.values[host->nic];
    char *rest;
    bool good = true;
    for (uint32_t o = 0; NULL != kind->options[o].name; ++o) {
        values[o] = kind->options[o].usual;
    }
    host->settings = strdup(NULL == settings ? "" : settings);
    if (NULL == host->settings) {
        return myr_refuse(why, "out of memory");
    }
    for (char *one = strtok_r(host->settings, " ", &rest); good && NULL != one;
         one = strtok_r(NULL, " ", &rest)) {
        good = read_one(kind, one, values, why);
    }
    return good;
}
