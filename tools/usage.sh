# SPDX-License-Identifier: BSD-3-Clause
# A script's own help: its head comment. To be sourced by all scripts that people call, before they read their
# arguments and change the directory. --help as the first argument prints it and exits, as does --version. usage() is for
# wrong arguments; numbers() checks that all of its arguments are numbers from 1 on.
# shellcheck shell=bash
explain() { sed -n '3,${/^#/!q; /^# shellcheck/!s/^# \{0,1\}//p}' "$0"; }
usage() { explain >&2; exit 64; }
numbers() {
    local number
    for number; do
        case $number in '' | *[!0-9]* | 0) return 1 ;; esac
    done
}
[ "${1-}" != --help ] || { explain; exit 0; }
[ "${1-}" != --version ] || { echo "${0##*/} $(cat "$(dirname "${BASH_SOURCE[0]}")/../VERSION")"; exit 0; }
