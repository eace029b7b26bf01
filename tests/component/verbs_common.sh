# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of the RDMA NIC, which run in the virtual machine of verbshosts. A script that is started outside
# of it starts the machine with itself as the command.
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"

# Outside of the machine: runs this script again on such hosts, or skips the test if they are not available.
on_machine() { # VERBSHOSTS-ARGUMENT...
    srcdir=$(cd "${srcdir:-.}" && pwd)
    builddir=$(cd "${builddir:-.}" && pwd)
    export srcdir builddir
    local component=$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so
    if [ ! -e "$component" ] || [ ! -x "$builddir/tests/programs/player" ]; then
        echo "no component, or no programs of the tests in $builddir: run this by make check, or 'make check TESTS=' before it" >&2
        exit 1
    fi
    grep -q 'libibverbs\.so' "$component" || # the name that it loads
        { echo "nicbarr was built without libibverbs (libibverbs-dev)"; exit 77; }
    exec "$srcdir/testbeds/verbs/verbshosts" --shell "$@" bash "$0" inside
}

# Inside the machine.
begin() {
    # shellcheck source=tests/component/common.sh
    . "$(dirname "$0")/common.sh"
    seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
    echo "NICBARR_SEED=$seed"
    verbs=(--mca pml ob1 --mca coll_nicbarr_nic verbs --mca coll_nicbarr_verbose 1)
    patience=$((${watchdog:-300} - 10))
    # shellcheck source=tests/component/carried_common.sh
    . "$(dirname "$0")/carried_common.sh"
}

# Runs a job with a program of tests/mpi, which must succeed.
job_on() { # HOSTS PER-HOST MPIRUN-ARGUMENT...
    VERBSHOSTS_HOSTS=$1 VERBSHOSTS_PER_HOST=$2 timeout -k 5 "${watchdog:-300}" "$VERBSHOSTS_MPIRUN" \
        "${verbs[@]}" "${@:3}" > "$scratch/out" 2>&1
}
on_hosts() { job_on "$@" && said "^ok"; }
packets() { cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/sent_pkts"; }
no_librdmacm="the RDMA NIC exchanges addresses"
has_librdmacm() { ! said "$no_librdmacm"; }

# Runs a job with one process on each of two hosts, which calls endless barriers and nothing else, because in another
# collective Open MPI itself might wait for the lost process for ever. COMMAND runs meanwhile.
endless=(--mca coll_nicbarr_algorithm dissemination:1@verbs --mca coll_nicbarr_warn 5 --mca orte_enable_recovery 1)
something() { # TIMEOUT COMMAND...: returns the job's status
    local job first
    job_on 2 1 "${endless[@]}" --mca coll_nicbarr_timeout "$1" "$builddir/bench/startup" barrier 2000000000 &
    job=$!
    first=$(packets 1)
    until [ $(($(packets 1) - first)) -gt 3000 ] || ! kill -0 $job 2> /dev/null; do sleep 0.2; done
    "${@:2}"
    wait $job
}
named() { # HOST (rank RANK): a message names this missing process
    said "will not complete: $1.* does not respond, or its processes have exited"
}
