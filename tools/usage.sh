# SPDX-License-Identifier: BSD-3-Clause
# Implements --help and --version for scripts. All scripts that users call source this file before they parse their
# arguments or change the directory. If the first argument is --help, it prints the comment at the head of the script
# and exits. usage() prints the same comment after wrong arguments. numbers() checks that all of its arguments are
# positive numbers.
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
