#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the RDMA NIC does not work between two kernels. The hosts are two virtual machines that are connected
# by a virtual cable, with soft-RoCE on their network cards. Data must be intact, the NIC must execute the collectives,
# and a message must name a host that is cut off.
#
# The script is run by hand, because it takes minutes, and tests only the second kernel in addition to verbs.sh.
#
#     tests/component/verbs_kernels.sh    (with srcdir and builddir, as make check sets them)
# shellcheck source=tests/component/verbs_common.sh
. "$(dirname "$0")/verbs_common.sh"
[ "${1-}" = inside ] || on_machine --kernels --seconds 600 2 1
TMPDIR=$VERBSHOSTS_OUT # shared by both machines
export TMPDIR
begin
unset TMPDIR

check "the second machine runs a separate kernel" test \
    "$(cat /proc/sys/kernel/random/boot_id)" != "$("$VERBSHOSTS_RUN" 2 cat /proc/sys/kernel/random/boot_id)"
check "collectives with data between two kernels" on_hosts 2 1 "${ours[@]}" --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
check "the RDMA NIC executes the collectives" carried 2 dissemination:1@verbs Allreduce Allgather Bcast Scatter
check "librdmacm is available" has_librdmacm
cut='ip link set rdma2 down; sleep 60; ip link set rdma2 up' # longer than nicbarr waits
something 20 "$VERBSHOSTS_RUN" 2 bash -c "$cut"
check "a message names the host that is cut off" named "host2 (rank 1)"
check "the MPI call returns an error" said "MPI_ERR_"
finish
