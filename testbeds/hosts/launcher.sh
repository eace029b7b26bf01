# SPDX-License-Identifier: BSD-3-Clause
# How mpirun reaches the hosts that nethosts has made; to be sourced by bash, with `here` this folder.
# Afterwards `list` is what its option --host takes, with NETHOSTS_PER_HOST slots on each of the first
# NETHOSTS_HOSTS, and `launcher` are the options that it needs besides.
# shellcheck shell=bash
# shellcheck source=ompi/jobs.sh
. "$here/../../ompi/jobs.sh"
unset OMPI_MCA_btl # hosts need a network
network=10.77.0.0/24 name=10.77.0.
if [ "$NETHOSTS_IPV6" = yes ]; then # Open MPI names networks of IPv4 alone
    network=eth0 name=host
fi
list=$(seq -s , -f "$name%g:$NETHOSTS_PER_HOST" 1 "$NETHOSTS_HOSTS")
# Processes are not bound unless the arguments say so: each host believes that it has all processors
# of this machine, and all of them would take the same one.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# For the same reason Open MPI does not know that there are more processes than processors: a process
# that waits would keep the processor from the one it waits for, for milliseconds.
export OMPI_MCA_mpi_yield_when_idle=1
# And the hosts' processes stay in mpirun's session. Linux shares processors out among sessions first
# (sched_autogroup): a process that yields does not give way to one of another session. On real
# hosts, they never compete. That alone made nicbarr's barrier of 16 hosts take 280 us instead of 105, and Open
# MPI's over TCP 560 instead of 470.
if is_open_mpi 4; then
    launcher=(--mca plm rsh --mca plm_rsh_agent "$here/agent" --mca plm_rsh_no_tree_spawn 1
        --leave-session-attached --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include "$network")
else
    # It counts its own host's slots by the hostname only, and maps by processor, which fills the
    # first host with all processes.
    list=host1${list#"${name}1"}
    map_by slot:oversubscribe
    launcher=(--prtemca plm ssh --leave-session-attached --prtemca plm_ssh_agent "$here/agent"
        --prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include "$network")
fi
launcher+=(--mca btl_tcp_if_include "$network")
