# SPDX-License-Identifier: BSD-3-Clause
# Has the test script that sources it run on hosts that are network namespaces (nethosts); to be
# sourced first. Outside it starts the script again, inside, and ends with it. Before, `hosts` says how
# many hosts there are and how many processes each, `patience` how many seconds until it hangs.
# shellcheck shell=bash
if [ "${1-}" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    nethosts=$here/../../nethosts/nethosts
    command -v python3 > /dev/null || { echo "skip: no python3 to read JSON with"; exit 77; }
    "$nethosts" --shell 2 true || exit 77
    exec timeout -k 5 "${watchdog:-$patience}" "$nethosts" --shell "${hosts[@]}" \
        bash "$here/${0##*/}" inside
fi
