#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, programs with many communicators exhaust the RDMA NIC: 20,000 in succession must leave nothing
# behind, and hundreds must live at once.
#
# By hand, as it takes minutes on emulated processors. An argument makes it shorter:
#
#     tests/component/verbs_many.sh [COMMUNICATORS]    (with srcdir and builddir, as make check sets them)
# shellcheck source=tests/component/verbs_common.sh
. "$(dirname "$0")/verbs_common.sh"
if [ "${1-}" != inside ]; then
    export COMMUNICATORS=${1:-20000}
    on_machine --seconds 20000 2 1
fi
watchdog=15000
begin

play=(--mca coll_nicbarr_algorithm dissemination:1@verbs)
first=$(packets 1)
check "$COMMUNICATORS communicators come and go" on_hosts 2 1 "${play[@]}" "$programs/soak" \
    --cycles "$COMMUNICATORS" --seed "$seed" --watchdog "$patience"
reported() { grep -v "nicbarr:" "$scratch/out"; }
reported
check "the RDMA NIC plays them" test $(($(packets 1) - first)) -gt "$COMMUNICATORS"
# One of each barrier on all of them, and then on the remaining ones, in another order.
many() {
    local i alive=$((COMMUNICATORS / 20))
    for i in $(seq $alive); do printf "$i %s=$i\n" "dup c=0 d" "coll what=barrier how=b times=2 c"; done
    for i in $(seq 2 2 $alive); do echo "$i free c=$i"; done
    for i in $(seq $((alive - 1 - alive % 2)) -2 1); do echo "$i coll what=barrier how=b times=3 c=$i"; done
}
written alive < <(many)
check "many live at once" on_hosts 2 1 "${play[@]}" "${alive[@]}"
reported
finish
