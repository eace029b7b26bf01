#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, nicsim gives users and scripts wrong results or unclear errors. Tested are the comparison with
# the papers, single simulations, studies, and wrong arguments.
#
# nicsim reads the data of the source tree. Time is simulated, so results do not depend on the machine.
set -u
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$here/.." && pwd)
# shellcheck source=tests/tap.sh
. "$here/../../../tests/tap.sh"
nicsim=$build/bench/nicsim/nicsim

run() { # sets status, out, err; the output without the time that the simulation took
    "$nicsim" --data "$data" "$@" >whole 2>err </dev/null
    status=$?
    sed 's/ in [0-9.]* s of CPU time$//' whole >out
}

latency() { # of the last run (us)
    sed -n 's/^ *\([0-9.]*\) us a barrier.*/\1/p' out
}

packets() { # of a barrier of the last run
    sed -n 's/^ *\([0-9.]*\) packets a barrier.*/\1/p' out
}

less() { # A B: two numbers
    awk "BEGIN { exit !($1 < $2) }"
}

# ---- the papers' table

run table --csv table.csv
works "the table's errors are in their bounds, the conclusions hold" \
    '^barrier:LANai4\.3:gm:PE:16:nic_us +102\.14 ' '^mean error: .* of what was predicted' \
    '^conclusions of the papers:$' '^  holds pairwise exchange beats gather-broadcast'
mv out first
mv table.csv first.csv
run table --csv table.csv
cmp first out && cmp first.csv table.csv
verdict $? "the table is the same each time"
[ "$(head -n 1 table.csv)" = 'figure,paper,simulated,error_percent,use,formula' ] &&
    awk -F, 'NR > 1 && (NF != 6 || $5 !~ /^(fitted|predicted)$/ || $2 <= 0 || $3 <= 0) { bad = 1 }
             END { exit bad || NR < 40 }' table.csv
verdict $? "the table as CSV"
grep -c ',fitted,' table.csv >fitted
[ "$(cat fitted)" -eq "$(grep -vc '^#' "$data/paper/fitted.txt")" ]
verdict $? "fitted are those that fitted.txt names"

spoiled() { # NAME SED-SCRIPT FILE: runs `nicsim table` with a changed file
    rm -rf spoiled
    cp -r "$data" spoiled
    chmod -R u+w spoiled
    sed "$2" "$data/$3" >"spoiled/$3"
    ! cmp -s "$data/$3" "spoiled/$3"
    verdict $? "there is something to change: $1"
    "$nicsim" table --data spoiled >out 2>err
    status=$?
}
spoiled "a NIC of half the speed" '/"nic_mhz"/,/value/s/33/16/' machines/lanai43.json
[ $status -eq 1 ] && grep -q '^mean error' out
verdict $? "the table fails with a NIC of half the speed"
spoiled "slower hosts" '/"host_call_us"/,/value/s/"value": [0-9.]*/"value": 12/' \
    machines/lanai43.json
[ $status -eq 1 ] && grep -q '^mean error' out
verdict $? "the table fails with slower hosts"
spoiled "another figure" 's/102\.14/51.07/; s/181\.81/90.9/' paper/barrier_latency.csv
[ $status -eq 1 ] && grep -q '^mean error' out
verdict $? "the table fails with other figures"
spoiled "a figure that there is not" 's/PE:16:nic_us/PE:15:nic_us/' paper/fitted.txt
refuses "fitted.txt names what there is not" 'there is no published value "barrier:LANai4.3:gm:PE:15:nic_us"'
spoiled "no JSON" 's/^{/[/' machines/npii.json
refuses "a machine's file is no JSON" 'npii\.json:[0-9]+: '
rm -rf spoiled

# ---- one game

run barrier
works "a barrier" '^LANai 4\.3, 16 nodes, pairwise executed by the NICs, GM, seed 1$' \
    '^ +[0-9.]+ us a barrier$' '^ +64\.0 packets a barrier, 2048 bytes$' \
    '^ +16\.0 DMAs a barrier$' '^ +0 packets lost$' '^ +1280 packets sent$' \
    '^ +1280 packets received$' '^ +320 barriers completed' '^[0-9]+ events$'
nics=$(latency)
run barrier --mpi
less "$nics" "$(latency)"
verdict $? "MPI costs something"
run barrier --hosts
works "hosts play" 'executed by the hosts' '^ +1280 messages delivered to a port$' \
    '^ +1280 messages whose completion'
less "$nics" "$(latency)"
verdict $? "hosts are slower"
run barrier -n 2 -m lanai43
less "$(latency)" "$nics"
verdict $? "fewer nodes are faster"
run barrier -n 7 -a tree:3 --barriers 5 --warm-up 0
works "a tree" '7 nodes, tree:3 ' '^ +12\.0 packets a barrier' '^ +35 barriers completed'
run barrier -n 9 -a dissemination:2
works "dissemination" '^ +36\.0 packets a barrier'
for machine in "$data"/machines/*.json; do
    name=$(basename "$machine" .json)
    run barrier -m "$name" -n 40 && works "the machine $name" ', 40 nodes, ' ' us a barrier$'
done
run barrier --work 500
works "work" 'us a barrier, including the work before it$'
less 500 "$(latency)"
verdict $? "work takes its time"

run barrier --loss 10 --seed 3
works "loss" '^ +[1-9][0-9]* packets lost$' '^ +[1-9][0-9]* .* retransmission was requested$' \
    "^ +[1-9][0-9]* .* at a peer's request$"
mv out first
run barrier --loss 10 --seed 3
cmp first out
verdict $? "a seed says all"
run barrier --loss 10 --seed 4
sed 's/seed [34]//' first >first-unnamed
sed 's/seed [34]//' out | cmp -s - first-unnamed
verdict $((1 - $?)) "another seed, another game"
run barrier --loss 10 --hosts --mpi
works "loss, and hosts" '^ +[1-9][0-9]* message packets retransmitted$'
run barrier --work 100 --variation 50 --hosts -n 5
works "varying work" 'including the work before it$'

# ---- broadcasts

root() { # its call in the last run (us)
    sed -n 's/^ *\([0-9.]*\) us in the root.s call$/\1/p' out
}
round() { # of the last run (us)
    sed -n 's/^ *\([0-9.]*\) us from one broadcast to the next.*/\1/p' out
}
run bcast -n 8
works "broadcasts" '^LANai 4\.3, 8 nodes, 4 bytes broadcast by the NICs, GM, seed 1$' \
    "including the last node's reply$" '^ +[0-9.]+ DMAs a broadcast$' \
    '^ +[0-9]+ bytes of a NIC.s memory' '^ +160 broadcast blocks received' '^ +20 messages delivered to a port$'
nics=$(round)
run bcast -n 8 --hosts
works "broadcasts by hosts" 'broadcast by the hosts' '^ +160 messages delivered to a port$'
less "$nics" "$(round)"
verdict $? "hosts broadcast slower"
run bcast -n 8 --bytes 1200
less "$nics" "$(round)"
verdict $? "more bytes take longer"
run bcast -n 8 --consecutive --barriers 101
works "consecutive broadcasts" 'us from one broadcast to the next$' '^ +840 broadcast blocks received'
less "$(round)" "$nics"
verdict $? "which wait for no answer"
run bcast -n 40 --fan-out 3 -m infiniband --mpi
works "another tree" '40 nodes, .* NICs, MPI, ' ' us in the root.s call$'
few=$(root)
run bcast -n 40 --fan-out 1 -m infiniband --mpi
less "$(root)" "$few"
verdict $? "more children take the root longer"
run broadcasts -m npii
works "the tables of broadcasts" '^\./bcast_bytes\.csv$' '^\./bcast_nodes\.csv$'
[ "$(sed -n 2p bcast_bytes.csv)" = 'bytes,nic_us,host_us,factor,nic_root_us,host_root_us' ] &&
    awk -F, 'NR > 2 && ($1 != 2 ^ (NR - 1) || $2 >= $3 || $4 < 1 || $5 <= 0 || $6 <= 0) { bad = 1 }
             END { exit bad || NR != 11 }' bcast_bytes.csv
verdict $? "over bytes"
[ "$(head -n 1 bcast_nodes.csv)" = 'nodes,nic_64_us,host_64_us,nic_512_us,host_512_us' ] &&
    awk -F, 'NR > 1 && ($1 != NR || $2 >= $3 || $4 >= $5 || $2 >= $4 || NF != 5) { bad = 1 }
             END { exit bad || NR != 16 }' bcast_nodes.csv
verdict $? "over nodes"
run table --csv table.csv
for bytes in 4 512; do
    awk -F, -v bytes=$bytes '$1 == "bcast:LANai4.x:" bytes ":8:nic_us" { there = $3 }
                             $1 == bytes { here = $2 }
                             END { exit !(here > 0 && here - there < 0.001 && there - here < 0.001) }' \
        table.csv bcast_bytes.csv
    verdict $? "they are the table's, $bytes bytes"
done

# ---- messages matched by NICs

run messages -m npii
works "the tables of messages" '^\./message_bytes\.csv$' '^\./message_nodes\.csv$'
[ "$(head -n 1 message_bytes.csv)" = 'bytes,lists_us,table_us' ] &&
    awk -F, 'NR > 1 && ($1 != (NR == 2 ? 0 : 2 ^ (NR - 1)) || $2 <= last || $3 <= $2) { bad = 1 }
             NR > 1 { last = $2 }
             END { exit bad || NR != 20 }' message_bytes.csv
verdict $? "messages over bytes"
columns=
for width in 8 16; do
    columns=$columns,lists_open_${width}_us,lists_named_${width}_us,table_open_${width}_us,table_named_${width}_us
done
[ "$(head -n 1 message_nodes.csv)" = "nodes$columns" ] &&
    awk -F, 'NR == 2 { for (c = 2; c <= 9; c++) first[c] = $c }
             NR > 1 && ($1 != NR || NF != 9) { bad = 1 }
             NR > 1 { for (c = 2; c <= 9; c++) if ($c != first[c]) bad = 1 }
             NR > 1 && ($3 >= $2 || $7 <= $6 || $4 != $5 || $8 != $9 || $4 != $8 || $2 != $6) { bad = 1 }
             END { exit bad || NR != 16 }' message_nodes.csv
verdict $? "receives over nodes: as long with 16 as with 2, and a named source's list is what grows"
for figure in 8:open_us=2 8:named_us=3 16:open_us=6 16:named_us=7; do
    awk -F, -v what="${figure%=*}" -v column="${figure#*=}" '
        BEGIN { split(what, part, ":"); name = "waiting:LANai4.x:" part[1] ":8:" part[2] }
        $1 == name { there = $3 }
        FILENAME == "message_nodes.csv" && $1 == 8 { here = $column }
        END { exit !(here > 0 && here - there < 0.001 && there - here < 0.001) }' table.csv message_nodes.csv
    verdict $? "they are the table's, $figure"
done
run messages -m lanai43
works "messages on another machine" '^LANai 4\.3: '

# ---- a study

run scale -n 32 -m infiniband --csv scale.csv
works "a study" '^nodes|  LoP, us +formula, us$' '^ +32  tree:32 +hosts '
[ "$(head -n 1 scale.csv)" = 'machine,nodes,algorithm,player,us,packets,group_bytes,lop_us,formula_us,connections,port_bytes' ]
verdict $? "its columns"
# There are rows for nineteen algorithms, executed by NICs and by hosts, and 2 to 32 nodes. Rows of host-based
# dissemination contain a prediction of the LoP model, rows of pairwise exchange that of the formulas, and rows of
# host-based barriers the numbers of connections and bytes of a port.
awk -F, 'NR > 1 {
             ++rows[$2]
             if (NF != 11 || $5 <= 0 || $6 <= 0 || $7 <= 0) { bad = 1 }
             split($3, part, ":")
             model = part[1] == "dissemination" && $4 == "hosts" && part[2] + 0 < $2 + 0
             if (model != ($8 != "") || ($3 == "pairwise") != ($9 > 0)) { bad = 1 }
             if (($4 == "hosts") != ($10 > 0) || ($4 == "hosts") != ($11 > 0)) { bad = 1 }
             if ($3 == "pairwise" && $4 == "nics" && $6 != $2 * log($2) / log(2)) { bad = 1 }
         }
         END { exit bad || rows[2] != 38 || rows[32] != 38 || NR != 1 + 5 * 38 }' scale.csv
verdict $? "its rows"
packets_of() { # ALGORITHM NODES PLAYER, in the study
    awk -F, -v a="$1" -v n="$2" -v p="$3" '$3 == a && $2 == n && $4 == p { print $6 }' scale.csv
}
run barrier -m infiniband -n 32 -a tree:4
[ "$(packets_of tree:4 32 nics)" = "$(packets)" ]
verdict $? "as many packets as in one game"

# ---- usage

usage() { # the command line is refused, with a line for the reason and one with what to try
    name=$1
    pattern=$2
    shift 2
    "$nicsim" --data "$data" "$@" >out 2>err
    [ $? -eq 64 ] && [ ! -s out ] && [ "$(wc -l <err)" -le 2 ] && head -n 1 err | grep -Eq -e "$pattern"
    verdict $? "$name"
}
usage "no command" 'COMMAND is missing'
usage "an unknown command" "no command 'wibble'" wibble
usage "two commands" "only one command" barrier table
usage "an unknown option" wibble barrier --wibble
usage "one node" "'1'" barrier -n 1
usage "too many nodes" "'65537'" scale -n 65537
usage "no number" "'8x'" barrier -n 8x
usage "no number at all" "nan" barrier -n nan
usage "an unknown algorithm" "'wibble'" barrier -a wibble
usage "a tree of nothing" "'tree:0'" barrier -a tree:0
usage "Open MPI's own" "'openmpi'" barrier -a openmpi
for algorithm in counter flags:4; do
    usage "memory that hosts share: $algorithm" "unknown algorithm '$algorithm'; there are pairwise" barrier -a $algorithm
done
usage "the kernel NIC" "'pairwise@kernel'" barrier -a pairwise@kernel
usage "no barriers" "'0'" barrier -b 0
usage "no bytes" "'0'" bcast --bytes 0
usage "too many bytes" "'1201'" bcast --bytes 1201
usage "no tree" "'0'" bcast --fan-out 0
usage "too much loss" "'91'" barrier --loss 91
usage "less than no loss" "'-1'" barrier --loss=-1
usage "too much variation" "'101'" barrier --variation 101
run barrier -m wibble
refuses "an unknown machine" "no machine 'wibble' in .*: bluefield, ethernet, .*, npii\$"
"$nicsim" table --data "$scratch/nowhere" >out 2>err
status=$?
refuses "no data" 'nowhere/machines/lanai43\.json'
run table --csv "$scratch/nowhere/table.csv"
refuses "a table to nowhere" 'nowhere/table\.csv cannot be written'
run scale -n 4 --csv "$scratch/nowhere/scale.csv"
refuses "a study to nowhere" 'nowhere/scale\.csv cannot be written'
run broadcasts --csv-dir "$scratch/nowhere"
[ "$status" -eq 1 ] && grep -q 'nowhere/bcast_bytes\.csv cannot be written' err
verdict $? "broadcasts to nowhere"
run scale -n 2 --csv /dev/full
[ "$status" -eq 1 ] && grep -q '/dev/full' err
verdict $? "a full disk for a study's table"
"$nicsim" barrier --data "$data" >/dev/full 2>err
[ $? -eq 1 ] && grep -q 'No space' err
verdict $? "a full disk"
for argument in --help --version; do
    "$nicsim" $argument >out 2>err && [ -s out ] && [ ! -s err ]
    verdict $? "$argument"
done

finish
