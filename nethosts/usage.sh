# SPDX-License-Identifier: BSD-3-Clause
# What a script says of itself: its head comment, up to `set`. To be sourced by nethosts, verbshosts and
# the benchmarks, before they read their arguments: --help as the first of them prints it, and ends. So does --version.
# shellcheck shell=bash
explain() { sed -n '3,/^set/s/^# \{0,1\}//p' "$0"; }
usage() { explain >&2; exit 64; }
[ "${1-}" != --help ] || { explain; exit 0; }
[ "${1-}" != --version ] || { echo "${0##*/} $(cat "$(dirname "${BASH_SOURCE[0]}")/../VERSION")"; exit 0; }
