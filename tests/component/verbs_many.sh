#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, programs with many communicators exhaust the RDMA NIC: after 20,000 communicators in succession no
# resources may be left, and hundreds must be able to exist at the same time.
#
# The script is run by hand, because it takes minutes on emulated processors. An argument makes it shorter:
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
check "$COMMUNICATORS communicators are created and freed" on_hosts 2 1 "${play[@]}" "$programs/soak" \
    --cycles "$COMMUNICATORS" --seed "$seed" --watchdog "$patience"
reported() { grep -v "nicbarr:" "$scratch/out"; }
reported
check "the RDMA NIC executes their barriers" test $(($(packets 1) - first)) -gt "$COMMUNICATORS"
# The program calls each form of barrier once on all communicators, frees some of them, and calls the barriers once more
# on the remaining ones in another order.
many() {
    local i alive=$((COMMUNICATORS / 20))
    for i in $(seq $alive); do printf "$i %s=$i\n" "dup c=0 d" "coll what=barrier how=b times=2 c"; done
    for i in $(seq 2 2 $alive); do echo "$i free c=$i"; done
    for i in $(seq $((alive - 1 - alive % 2)) -2 1); do echo "$i coll what=barrier how=b times=3 c=$i"; done
}
written alive < <(many)
check "many communicators exist at the same time" on_hosts 2 1 "${play[@]}" "${alive[@]}"
reported
finish
