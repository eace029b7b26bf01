# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts that run programs over bad networks; sourced after hosts_common.sh. The programs'
# ledger detects early releases.
# shellcheck shell=bash disable=SC2154
# shellcheck source=tests/component/drawn_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/drawn_common.sh"
ledger="$programs/barrier_ledger --iterations 300 --ledger $scratch/ledger --seed $seed"
drawn_barriers of_shapes 150
shapes="${of_shapes[*]}"
drawn in_threads --first 1 --flavour '{"threads": true, "collectives": ["barrier"]}'
threads="${in_threads[*]}"

# Checks that a program succeeds and that NICs execute its barriers: soft NICs, or with player=@kernel kernel NICs. Each
# call uses the next algorithm of the list.
player=
algorithms=(pairwise dissemination:1 tree:2 dissemination:2 tree:4)
turn=0
played() { # NAME PROGRAM NETHOSTS-ARGUMENT...
    local name=$1 program=$2 algorithm=${algorithms[turn++ % ${#algorithms[@]}]}$player
    shift 2
    # shellcheck disable=SC2086 # words
    check "$name, $algorithm" on_hosts ${player:+--kernel} --seed "$seed" "$@" \
        --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm "$algorithm" $program
    check "the NICs execute the barriers" said "MPI_Barrier on .* nodes: $algorithm"
}
# did WHAT: succeeds if the switch has done this, such as `lost`, to at least 10 packets.
did() { [ "$(grep -o "$1 [0-9]*" "$scratch/out" | tail -n 1 | grep -o '[0-9]*$')" -ge 10 ]; }
