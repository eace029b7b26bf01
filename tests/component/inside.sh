# SPDX-License-Identifier: BSD-3-Clause
# A test script that sources this file first runs on hosts that are network namespaces (nethosts). When it is started
# outside of them, this file starts the script again inside, and exits with its status. The script must first set
# `hosts` to the numbers of hosts and of processes per host, and `patience` to the number of seconds after which the
# script is considered to hang.
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"
if [ "${1-}" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    nethosts=$here/../../testbeds/hosts/nethosts
    command -v python3 > /dev/null || { echo "skip: no python3 to read JSON with"; exit 77; }
    "$nethosts" --shell 2 true || exit 77
    exec timeout -k 5 "${watchdog:-$patience}" "$nethosts" --shell "${hosts[@]}" \
        bash "$here/${0##*/}" inside
fi
