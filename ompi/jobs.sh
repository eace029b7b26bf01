# SPDX-License-Identifier: BSD-3-Clause
# How the scripts start MPI jobs on whatever machine this is; to be sourced (by
# nethosts, the benchmarks, the tests, demo.sh).
# shellcheck shell=bash

# mpirun asks for these when run as root, and refuses more processes than processors otherwise. Each
# release reads its own.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
mpirun_version=$(mpirun --version 2> /dev/null) || :
is_open_mpi() { # 4, 5 or 6 (some who source this are of sh)
    case $mpirun_version in *"(Open MPI) $1."*) ;; *) false ;; esac
}
# (Since 6.0 the old name of this is worth a paragraph on each start.)
map_by() { # POLICY
    if is_open_mpi 6; then
        export PRTE_MCA_mapby=$1
    else
        export PRTE_MCA_rmaps_default_mapping_policy=$1
    fi
}
map_by :oversubscribe
# One machine needs no network, and tcp of 5.0 and later complains about loopback. 4.1 must have it: without, its
# one-sided communication falls back to osc/pt2pt, whose MPI_Win_unlock returns before the data has
# arrived (seen with plain Open MPI 4.1.4).
transports=${OMPI_MCA_btl-}
if is_open_mpi 5 || is_open_mpi 6; then export OMPI_MCA_btl=sm,self; fi
# Several hosts need one: the user's own choice again, if there is one.
on_several_hosts() {
    export OMPI_MCA_btl=$transports
    [ -n "$transports" ] || unset OMPI_MCA_btl
}

# Options for mpirun that bind processes to processors: no more than one to each as long as they
# last.
bound="--bind-to core:overload-allowed"
unbound="--bind-to none"
export bound unbound
