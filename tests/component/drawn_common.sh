# SPDX-License-Identifier: BSD-3-Clause
# Programs of tests/programs that a script generates once and runs in many ways, while all results are checked. To be
# sourced after common.sh and with `seed` set.
# shellcheck shell=bash disable=SC2154

# program_of NAME: sets the array NAME to the command that runs $scratch/NAME.program.
program_of() {
    local -n words=$1
    words=("$builddir/tests/programs/player" --board "${MACHINES_LEDGER:-$scratch/board}" --program "$scratch/$1.program")
}
# written NAME: as program_of, for a program that is read from standard input.
written() {
    program_of "$1"
    cat > "$scratch/$1.program"
}
# drawn NAME OPTION...: as program_of, for a random program.
drawn() {
    program_of "$1"
    "$srcdir/tests/programs/run.sh" draw "$scratch/$1.program" "$seed" "${@:2}" || exit
}
# drawn_barriers NAME LENGTH [OPTION...]: as drawn, for random barriers on communicators of all shapes, which are
# created and freed.
drawn_barriers() {
    drawn "$1" --length "$2" --first 1 \
        --flavour '{"collectives": ["barrier"], "hows": "bbip", "inter": true, "places": 20}' "${@:3}"
}
# thousands_outstanding: sets the array `thousands` to a program with 5000 outstanding non-blocking barriers.
thousands_outstanding() {
    written thousands < <(printf '%s\n' "1 coll what=barrier how=b c=0 times=3"
        printf '2 coll what=barrier how=i c=0 times=1000 r=%s\n' 0 1 2 3 4)
}
