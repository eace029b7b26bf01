# SPDX-License-Identifier: BSD-3-Clause
# Selects what is measured; to be sourced, with `top` the source tree: the components and commands of the
# environment, or, if it has none, those that ./setup.sh has built.
# shellcheck shell=bash
if ! command -v nicbarr_bench > /dev/null; then
    [ -e "$top/_install" ] || { echo "${0##*/}: nothing is built; run ./setup.sh" >&2; exit 1; }
    cd "$top" || exit
    # shellcheck source=env.sh
    . ./env.sh
fi
