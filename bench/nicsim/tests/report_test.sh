#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicsim report` writes a wrong or incomplete page. Small clusters are simulated.
#
# Scripts and data are those of the source tree. The simulation is deterministic.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v gnuplot > /dev/null || { echo "there is no gnuplot"; exit 77; }
export NICBARR_LIBEXECDIR=$here/../../..
data=$here/..
# shellcheck source=bench/report/page_checks.sh
. "$here/../../report/page_checks.sh"
nicsim=$build/bench/nicsim/nicsim

run() { # ARGUMENT...: status, out, err
    "$nicsim" report --data "$data" "$@" > out 2> err < /dev/null
    status=$?
}
csvs() { # the contents of its tables
    (cd "$1" && find . -name '*.csv' | sort | xargs head -n 1000)
}

# ---- a page: 6 plots of all machines, 10 of each, 6 of each evaluation
run --nodes 16
[ $status -eq 0 ] && [ ! -s err ] && grep -q '^The page: .*/nicsim-report/index.html$' out
verdict $? "a report of all machines"
is_page nicsim-report $((6 + 6 * 10 + 2 * 6))
are_readable nicsim-report
says nicsim-report 'Command</th><td>nicsim report --data' 'Mean error: [0-9.]* % of what was fitted' \
    '<td>barrier; LANai 4.3; GM; pairwise exchange; 16 nodes; NICs</td>' 'holds</th><td>pairwise exchange beats' \
    'NOT</th><td>gather-broadcast on 2 NICs loses to that on 2 hosts: the paper gives no value' \
    'Ethernet card whose firmware is' '<td>lanai43</td>' 'at the level of MPI' '<td>computation-intensive</td>' \
    '<pre>what,number,bytes$' 'Broadcasts, npii' '<td>broadcast; LANai 4.x; 4 bytes; 8 nodes; NICs</td>' \
    'Messages that NICs match, npii' \
    '<td>receive of a message that waits; LANai 4.x; channels of 8; 2 nodes; MPI_ANY_SOURCE</td>'
[ "$(grep -c '^ *[0-9]* of 22 ' out)" -eq 22 ] && [ "$(grep -c '^status 0$' nicsim-report/simulation.log)" -eq 22 ]
verdict $? "22 simulations"

# Check the tables that the script derives from those of nicsim.
row() { # CSV COLUMNS: the row of 16 nodes
    grep '^16,' "nicsim-report/$1" | cut -d , -f "$2"
}
scale() { # MACHINE ALGORITHM PLAYER
    grep "^$1,16,$2,$3," "nicsim-report/$1/scale.csv" | cut -d , -f 5
}
[ "$(row ethernet/latency.csv 2,6)" = "$(scale ethernet pairwise nics),$(scale ethernet pairwise hosts)" ]
verdict $? "latencies are those of the study"
[ "$(row ethernet/latency.csv 3)" = "$(scale ethernet "dissemination:$(row ethernet/optimum.csv 2)" nics)" ] &&
    [ "$(row ethernet/latency.csv 8)" = "$(scale ethernet "tree:$(row ethernet/optimum.csv 5)" hosts)" ] &&
    [ "$(row ethernet/latency.csv 3)" = "$(grep '^ethernet,16,dissemination:.*,nics,' nicsim-report/ethernet/scale.csv |
        cut -d , -f 5 | sort -n | head -n 1)" ]
verdict $? "the best n and degree"
[ "$(row factors.csv 6)" = "$(row ethernet/latency.csv 10)" ] &&
    [ "$(grep '^ethernet,' nicsim-report/machines.csv | cut -d , -f 8)" = "$(printf '%.3f' "$(row factors.csv 6)")" ]
verdict $? "factors of all machines"
awk -F , '/^2,/ { exit !($2 == $3 && $4 == 0 && $5 == "nan") }' nicsim-report/lanai43/lop.csv
verdict $? "the LoP model is exact for two nodes, and says nothing of more partners than there are"
[ "$(row packets.csv 2)" = 64.0 ] && [ "$(row groups.csv 2)" -ge 128 ]
verdict $? "packets and memory"

run --nodes 16 --jobs 3 --machine ethernet,lanai72 --output again
[ $status -eq 0 ]
verdict $? "again, two of the machines, with 3 jobs"
for same in lanai72 ethernet; do
    [ "$(csvs again/$same)" = "$(csvs nicsim-report/$same)" ]
    verdict $? "the same figures of $same"
done
cmp again/figures.csv nicsim-report/figures.csv > /dev/null && cmp again/conclusions.csv nicsim-report/conclusions.csv
verdict $? "the papers' are the same"

run --nodes 4 --machine bluefield
[ $status -eq 0 ] && [ ! -e nicsim-report/lanai43 ]
verdict $? "its own directory is taken again, and nothing of the earlier report stays"
is_page nicsim-report $((6 + 10))

# ---- failures are reported, and the other simulations go on
cp -r "$data" spoiled
sed -i 's/^link_header.*//; s/"nic_mhz"/"wibble_mhz"/' spoiled/machines/infiniband.json
data=spoiled run --nodes 4 --machine bluefield,infiniband --output failing
[ $status -eq 1 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q '^nicsim report: 3 of the simulations' err &&
    grep -q 'infiniband .*FAILED: status 1: nicsim: ' out &&
    grep -q 'class="failure">The simulation failed: status 1: nicsim: ' failing/index.html
verdict $? "a machine's file is spoiled"
is_page failing $((6 + 10))

# ---- directories
directories "a report's" --nodes 4 --machine ethernet

# ---- usage
usage "unknown argument '--wibble'" --wibble
usage "unknown argument 'file'" file
usage "there is no machine 'lanai44'" --machine lanai43,lanai44
usage "there is no machine '../machines/lanai43'" --machine ../machines/lanai43
usage "has 'npii' twice" --machine npii,ethernet,npii
usage "needs machines" --machine ''
usage "needs a value" --nodes
for bad in '' x 3 -4 65537 1.5; do
    usage "--nodes must be a number from 4 to 65536" --nodes "$bad"
done
usage "--jobs must be a number" --jobs 0
data=nowhere usage "there is no machine 'lanai43' in" --nodes 4
run --help
[ $status -eq 0 ] && grep -q -- '--nodes MOST' out && [ ! -s err ]
verdict $? "--help"
NICBARR_LIBEXECDIR=$PWD/nowhere run
refuses "no script" 'nicsim report: cannot run .*/nowhere/bench/nicsim/report.sh: No such file'
mkdir bare
for program in bash awk sed cut dirname nproc; do
    ln -s "$(command -v $program)" bare/
done
PATH=$PWD/bare run --output never
refuses "no gnuplot" "there is no gnuplot in the PATH"
[ ! -e never ]
verdict $? "which wrote nothing"

# ---- interrupted
"$nicsim" report --data "$data" --machine lanai43 --nodes 65536 --jobs 2 --output interrupted > out 2> err < /dev/null &
for _ in $(seq 600); do
    [ -s interrupted/lanai43/mpi/latency.csv ] && break
    sleep 0.1
done
kill -TERM $!
wait $!
[ $? -eq 130 ] && grep -q 'interrupted; there is no page' err && [ ! -e interrupted/index.html ]
verdict $? "interrupted"

finish
