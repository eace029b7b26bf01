#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a hostile user of the kernel NIC can break or starve barriers of other users. The hostile user's
# program (worst_user) keeps every page mapped, and claims that its hosts have entered epochs that they have not. The
# test counts the resources that the user gets. bench/neighbour.sh measures how much the user slows down others.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
if [ $? = 77 ] || [ "$(id -u)" != 0 ]; then
    echo "skip: needs root, and a kernel that is a NIC: $(cat "$scratch/out")"
    exit 77
fi
chmod 711 "$scratch"
# The programs are copied, because the other user may have no access to the build directory.
cp "$builddir/tests/component/worst_user" "$builddir/tools/nicbarr" "$scratch"
export scratch

cat > "$scratch/neighbour.sh" << 'EOS'
#!/bin/bash
as_other() { # HOST COMMAND...
    "$NETHOSTS_RUN" "$1" setpriv --reuid 65534 --regid 65534 --clear-groups "${@:2}"
}
# Prints the value of EXPRESSION over the groups g of that user on the kernel NIC of host 1.
of() { # EXPRESSION
    as_other 1 "$scratch/nicbarr" status --json | EXPRESSION=$1 python3 -c '
import json, os, sys
g = json.load(sys.stdin)["kernel"]["groups"]
print(eval(os.environ["EXPRESSION"]))'
}
as_other 1 "$scratch/worst_user" hoard 1 2 3000
for host in 1 2; do
    as_other $host "$scratch/worst_user" once $host $((3 - host)) 4 > "$scratch/ready$host" &
    players+=($!)
done
for host in 1 2; do
    until grep -q ready "$scratch/ready$host"; do sleep 0.1; done
done
# A doorbell may arrive before the other host has opened its group.
until [ "$(of 'all(one["done"] > 0 for one in g)')" = True ]; do sleep 0.1; done
summary='"%d groups, %d epochs begun" % (len(g), max(one["started"] for one in g))'
echo "before it: $(of "$summary")"
"$NETHOSTS_MPIRUN" "$@"
status=$?
echo "after it: $(of "$summary")"
kill "${players[@]}"
wait
exit $status
EOS
chmod +x "$scratch/neighbour.sh"
# shellcheck disable=SC2086 # words
check "a job runs beside a hostile user" on_hosts --kernel --shell 2 1 "$scratch/neighbour.sh" --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm dissemination:1@kernel "$programs/barrier_ledger" --iterations 300 \
    --ledger "$scratch/ledger" --seed "$seed"
check "the NICs execute the barriers of the job" said "MPI_Barrier on .* 2 nodes: dissemination:1@kernel"
check "3000 successive groups of a user share one page" said "^3000 groups, 1 pages"
check "groups of the hostile user execute only epochs that both hosts have entered" said "^before it: 4 groups, 1 epochs begun$"
check "these groups execute no further epochs during the job" said "^after it: 4 groups, 1 epochs begun$"
finish
