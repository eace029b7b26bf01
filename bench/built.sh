# SPDX-License-Identifier: BSD-3-Clause
# Selects the components and commands that a benchmark measures: those in the environment (nicbarr_bench
# is in the PATH), or else those that ./setup.sh has built. To be sourced, with `top` set to the source
# tree.
# shellcheck shell=bash
if ! command -v nicbarr_bench > /dev/null; then
    [ -e "$top/_install" ] || { echo "${0##*/}: nothing is built; run ./setup.sh" >&2; exit 1; }
    cd "$top" || exit
    # shellcheck source=env.sh
    . ./env.sh
fi
