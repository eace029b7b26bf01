# SPDX-License-Identifier: BSD-3-Clause
# Settings with which scripts can start MPI jobs on any machine; to be sourced (by nethosts, the
# benchmarks, the tests, demo.sh).
# shellcheck shell=bash

# Without these variables, mpirun refuses to run as root, or to start more processes than there are
# processors. Open MPI 4.1 reads those that begin with OMPI_, later releases those that begin with PRTE_.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
mpirun_version=$(mpirun --version 2> /dev/null) || :
is_open_mpi() { # 4, 5 or 6. In POSIX syntax, because sh scripts source this file, too.
    case $mpirun_version in *"(Open MPI) $1."*) ;; *) false ;; esac
}
# (6.0 prints a long deprecation warning for the previous name of this variable.)
map_by() { # POLICY
    if is_open_mpi 6; then
        export PRTE_MCA_mapby=$1
    else
        export PRTE_MCA_rmaps_default_mapping_policy=$1
    fi
}
map_by :oversubscribe
# A job on one machine needs no network, and btl/tcp of 5.0 and later warns about the loopback interface. 4.1
# needs btl/tcp: without it, one-sided communication falls back to osc/pt2pt, whose MPI_Win_unlock returns
# before the data have arrived (observed with plain Open MPI 4.1.4).
transports=${OMPI_MCA_btl-}
if is_open_mpi 5 || is_open_mpi 6; then
    export OMPI_MCA_btl=sm,self
fi
# A job on several hosts needs a network: restore the user's choice, or Open MPI's default.
on_several_hosts() {
    export OMPI_MCA_btl=$transports
    [ -n "$transports" ] || unset OMPI_MCA_btl
}

# Options for mpirun: bind each process to a processor of its own, as long as there are enough, or do not
# bind at all.
bound="--bind-to core:overload-allowed"
unbound="--bind-to none"
export bound unbound
