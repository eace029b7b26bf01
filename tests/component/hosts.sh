#!/bin/bash
# Several hosts (network namespaces): communicators across them are Open MPI's, those within one are
# served, and what is a barrier stays one.
. "$(dirname "$0")/common.sh"
nethosts=$srcdir/tests/nethosts/nethosts
case $(mpirun --version) in
    *"(Open MPI) 4."*) ;;
    *) echo "skip: nethosts speaks to 4.1's launcher only"; exit 77 ;;
esac
"$nethosts" 2 true > "$scratch/out" 2>&1
if [ $? = 77 ]; then
    cat "$scratch/out"
    exit 77
fi

on_hosts() { # HOSTS PER-HOST MPIRUN-ARGUMENT...
    timeout -k 5 "${watchdog:-300}" "$nethosts" "$@" > "$scratch/out" 2>&1 && said "^ok"
}
check "3 hosts with 2 processes each" on_hosts 3 2 --mca coll_nicbarr_verbose 2 \
    "$programs/barrier_ledger" --iterations 300 --ledger "$scratch/ledger"
check "communicators across hosts are Open MPI's" \
    said "left to Open MPI: its processes are on several nodes"
check "2 hosts with 3 processes each, all shapes" on_hosts 2 3 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm counter \
    "$programs/barrier_shapes" --steps 300 --alive 50 --ledger "$scratch/ledger"
check "communicators within a host are served" said "processes on one node: counter"
finish
