# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts of the component, which source it in the environment of automake, where builddir and srcdir
# are the directories of the build and of the sources. A script prints a line for each check, and fails if any check has
# failed.
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/usage.sh"

set -u
builddir=$(cd "${builddir:-.}" && pwd)
srcdir=$(cd "${srcdir:-.}" && pwd)
if [ ! -e "$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so" ]; then
    echo "no component in $builddir: run this by make check, or set builddir and srcdir" >&2
    exit 1
fi
# shellcheck source=ompi/jobs.sh
. "$srcdir/ompi/jobs.sh"

export PMIX_MCA_mca_base_component_path=: # like env.sh
export OMPI_MCA_mca_base_component_show_load_errors=1
# The user's own configuration and cache are neither read nor written.
export OMPI_MCA_coll_nicbarr_cache=none
# Test jobs are short, so they could not measure anything within the default share of their time.
export OMPI_MCA_coll_nicbarr_tune_share=100
# Options for mpirun that make each process read the tuning cache at once instead of in a thread, so that timing does
# not decide when it is known.
at_once=(-x LD_PRELOAD="$builddir/tests/component/.libs/few_threads.so")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache

# Jobs use the component of the build directory instead of an installed one.
mkdir "$scratch/components"
ln -s "$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so" "$scratch/components/"
export OMPI_MCA_mca_base_component_path=$scratch/components:SYSTEM_DEFAULT

programs=$builddir/tests/mpi
failed=0
passed=0

# Runs a job whose output goes to $scratch/out. The watchdog only ends jobs that hang.
job() { # PROCESSES [MPIRUN-OPTION...] PROGRAM [ARGUMENT...]
    local processes=$1
    shift
    timeout -k 5 "${watchdog:-300}" mpirun -np "$processes" "$@" > "$scratch/out" 2>&1
}

verdict() { # STATUS NAME
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        echo "ok   $2"
    else
        failed=$((failed + 1))
        echo "FAIL $2"
        sed 's/^/     | /' "$scratch/out" | tail -n 40
    fi
}

# check NAME COMMAND...: runs the command, and records whether it succeeds.
check() {
    local name=$1
    shift
    "$@"
    verdict $? "$name"
}

said() { grep -q -- "$1" "$scratch/out"; }
said_before() { # PATTERN PATTERN: both occur, the first one earlier
    awk -v what="$1" -v other="$2" '!a && $0 ~ what { a = NR } !b && $0 ~ other { b = NR }
        END { exit !(a && b && a < b) }' "$scratch/out"
}
said_once() { [ "$(grep -c -- "$1" "$scratch/out")" = 1 ]; }
# Succeeds unless the message that barriers are left to Open MPI was printed twice for a communicator.
told_once() { [ -z "$(grep -o "barriers on .* are left to Open MPI" "$scratch/out" | sort | uniq -d)" ]; }
silent() { ! said "nicbarr:"; }

# Writes the component, changed by a command of sed, to standard output.
changed_component() { LC_ALL=C sed "$1" "$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so"; }
# The command that changes the component's format of hellos (NICBARR_HELLO_FORMAT), whatever its number is.
to_another_format='s/.\x00BN/\xee\x00BN/g'

. "$srcdir/tests/rewrite_cache.sh"

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}
