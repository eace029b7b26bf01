#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Random legal MPI programs, in hostile surroundings, each result checked.
#
# Usage: tests/programs/run.sh SECONDS [SEED] [OPTION...]
#   or:  tests/programs/run.sh play [--times N] [--plain] FILE...
#   or:  tests/programs/run.sh [--tries N] shrink FILE...
#   or:  tests/programs/run.sh draw FILE SEED [--length N] [--first N] [--flavour JSON] [--ours node|hosts]
#
# Plays programs for so long, or until --most of them have failed (1). Each has a
# seed of its own, from SEED on. A program that fails is written to the directory
# --keep, a file that `play` takes; with --shrink the least one that still fails
# is beside it. The last lines say how many programs there were and of what.
# `draw` writes a program that is to be played by other means (tests/component/drawn_common.sh).
#
#     --keep DIRECTORY    where programs that fail go (.); before the other words
#     --length N       steps of a program (60)
#     --hosts WHICH    none, some, or soft, loss, kernel, killed: all on several
#                      hosts (killed: the kernel NIC, whose daemons are killed)
#     --messages WHICH which programs send messages between all pairs: none, some,
#                      or btl, mtl, usual: all, carried by btl/myr, mtl/myr or Open
#                      MPI's usual components
#     --tame           no odd ranks, no caches, no hostile parameters
#     --plain          without nicbarr: a failure is the generator's, or Open MPI's
#     --most N         failures before it ends
#     --shrink         shrink each failure
#     --family WORD    other programs for the same seeds
#
# A program hangs if no process gets further for NICBARR_PATIENCE seconds (60).
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
