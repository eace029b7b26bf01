#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs random legal MPI programs under adverse conditions and checks every result.
#
# Usage: tests/programs/run.sh SECONDS [SEED] [OPTION...]
#   or:  tests/programs/run.sh play [--times N] [--plain] FILE...
#   or:  tests/programs/run.sh [--tries N] shrink FILE...
#   or:  tests/programs/run.sh draw FILE SEED [--length N] [--first N] [--flavour JSON] [--ours node|hosts]
#
# The first form generates and runs programs for SECONDS, or until --most of them
# have failed. Each program has a seed of its own, from SEED on. A program that
# fails is written to a file in the directory --keep, which `play` runs again; with
# --shrink the smallest version that still fails is written next to it (`shrink`
# does this later). The last lines count the programs by their conditions and steps.
# `draw` only writes a program, which other scripts run (tests/component/drawn_common.sh).
#
#     --keep DIRECTORY directory for programs that fail (.); must be the first option
#     --length N       number of steps of a program (60)
#     --hosts WHICH    which programs run on several hosts: none, some, or all of them
#                      with one kind of network: soft, loss, kernel or killed (the
#                      kernel NIC, whose daemons are killed)
#     --messages WHICH which programs send messages between all pairs: none, some,
#                      or all of them by btl/myr (btl), by mtl/myr (mtl) or by Open
#                      MPI's default components (usual)
#     --tame           no ranks that differ, no tuning caches, no extreme parameters
#     --plain          without nicbarr, so that a failure is a bug of the generator or
#                      of Open MPI
#     --most N         number of failures after which the run ends (1)
#     --shrink         shrink each program that fails
#     --family WORD    generate other programs from the same seeds
#
# A program counts as hung if no process makes progress for NICBARR_PATIENCE seconds (60).
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/usage.sh
. "$here/../../tools/usage.sh"
[ $# -gt 0 ] || usage
if [ -z "${builddir-}" ]; then
    . "$here/../../env.sh"
    # shellcheck source=ompi/jobs.sh
    . "$here/../../ompi/jobs.sh"
fi
words=()
while [[ ${1-} == --keep || ${1-} == --tries || ${1-} == --with || ${1-} == --shrink-seconds ]]; do
    words+=("$1" "$2")
    shift 2
done
case ${1-} in
    play | shrink | draw) ;;
    *) words+=(run) ;;
esac
exec python3 -B "$here/machine" "${words[@]}" "$@"
