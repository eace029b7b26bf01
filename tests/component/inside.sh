# SPDX-License-Identifier: BSD-3-Clause
# The test script that sources this first runs on hosts that are network namespaces (nethosts). Outside
# of them, this starts the script again inside, and ends with it. Before, `hosts` says how many hosts
# there are and how many processes each has. `patience` says after how many seconds the script counts
# as hung.
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
