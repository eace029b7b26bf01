# SPDX-License-Identifier: BSD-3-Clause
# How mpirun reaches the hosts of a test bed; to be sourced by bash, with `here` the bed's directory, whose `run` runs a
# command on a host.
#
#     reach HOSTS PER-HOST NAME NETWORK      sets `list` to the argument of mpirun's option --host, with PER-HOST slots
#                                            on each of the hosts NAME1 to NAMEn, and `launcher` to the other
#                                            options that it needs
# shellcheck shell=bash
# shellcheck source=ompi/jobs.sh
. "$here/../../ompi/jobs.sh"
unset OMPI_MCA_btl # hosts need a network
# Processes are not bound unless the arguments say so: each host believes that it has all processors of this machine,
# and all would use the same one.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# For the same reason Open MPI does not know that there are more processes than processors: a waiting process would
# keep the processor from the one that it waits for, for milliseconds.
export OMPI_MCA_mpi_yield_when_idle=1
# The hosts' processes stay in mpirun's session. Linux first divides processors among sessions (sched_autogroup), so a
# process that yields does not give way to one of another session, whereas processes on real hosts never compete.
# That alone made nicbarr's barrier of 16 hosts take 280 us instead of 105, and Open MPI's over TCP 560 instead
# of 470.
reach() {
    local agent=$here/../agent
    export TESTBED_RUN=$here/run # for the agent
    list=$(seq -s , -f "$3%g:$2" 1 "$1")
    if is_open_mpi 4; then
        launcher=(--mca plm rsh --mca plm_rsh_agent "$agent" --mca plm_rsh_no_tree_spawn 1
            --leave-session-attached --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include "$4")
    else
        # mpirun recognizes its own host only by the hostname, and maps by processor, which would put all processes on
        # the first host.
        list=host1${list#"${3}1"}
        map_by slot:oversubscribe
        launcher=(--prtemca plm ssh --leave-session-attached --prtemca plm_ssh_agent "$agent"
            --prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include "$4")
    fi
}
