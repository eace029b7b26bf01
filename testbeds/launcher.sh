# SPDX-License-Identifier: BSD-3-Clause
# Determines how mpirun starts processes on the hosts of a test bed. To be sourced by bash, with `here` set to the
# directory of the test bed, whose script `run` runs a command on a host.
#
#     reach HOSTS PER-HOST NAME NETWORK      sets `list` to the argument of mpirun's option --host, with PER-HOST slots
#                                            on each of the hosts NAME1 to NAMEn, and `launcher` to the other
#                                            options that it needs
# shellcheck shell=bash
# shellcheck source=ompi/jobs.sh
. "$here/../../ompi/jobs.sh"
unset OMPI_MCA_btl # a setting for one node would exclude the network
# By default processes are not bound: each host has all processors of this machine, so Open MPI would bind the
# processes of all hosts to the same processor.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# For the same reason Open MPI does not detect that there are more processes than processors. Without yielding, a
# process that polls would keep a processor for milliseconds while the process that it waits for needs it.
export OMPI_MCA_mpi_yield_when_idle=1
# The processes of all hosts stay in mpirun's session. Linux divides processors among sessions first
# (sched_autogroup), so in separate sessions a process that yields would not give way to processes of other hosts.
# Processes on real hosts do not compete in this way. With separate sessions, a barrier of 16 hosts took 280 us
# instead of 105 with nicbarr, and 560 us instead of 470 with Open MPI over TCP.
reach() {
    local agent=$here/../agent
    export TESTBED_RUN=$here/run # read by `agent`
    list=$(seq -s , -f "$3%g:$2" 1 "$1")
    if is_open_mpi 4; then
        launcher=(--mca plm rsh --mca plm_rsh_agent "$agent" --mca plm_rsh_no_tree_spawn 1
            --leave-session-attached --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include "$4")
    else
        # mpirun only recognizes its own host by the hostname. By default it maps processes by processor, and would
        # place all of them on the first host.
        list=host1${list#"${3}1"}
        map_by slot:oversubscribe
        launcher=(--prtemca plm ssh --leave-session-attached --prtemca plm_ssh_agent "$agent"
            --prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include "$4")
    fi
}
