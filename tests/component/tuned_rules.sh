#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, measured rules for Open MPI's component coll/tuned are incomplete or have no effect. nicbarr_tuned must
# measure each algorithm of coll/tuned. Open MPI must read the file that `nicbarr tune --write-tuned-rules` writes, and
# use the algorithms in it, which the test recognizes by the messages between the processes. Measured values are not
# checked. tools/tests/tuned_rules_test.sh tests which measurements become rules.
. "$(dirname "$0")/common.sh"

# ---- the measurements of nicbarr_tuned
tuned=$builddir/bench/tuned/nicbarr_tuned
numbers() { # COLLECTIVE BYTES: prints the numbers of the algorithms that were measured or excluded
    awk -v collective="$1" -v bytes="$2" '
        $1 == "tuned:" && $2 == collective && $6 == bytes { print $7 }
        $1 == "tuned-left-out:" && $2 == collective { print $4 }' "$scratch/out" | sort -un | tr '\n' ' '
}
all_numbers() { # COLLECTIVE: prints the numbers of all algorithms that Open MPI's parameter lists
    ompi_info --parsable --param coll tuned --level 9 |
        sed -n "s/^mca:coll:tuned:param:coll_tuned_$1_algorithm:enumerator:value:\([0-9]*\):.*/\1/p" |
        sort -un | tr '\n' ' '
}
of_each_quartiles() { # each line has plausible times and quartiles
    awk '$1 == "tuned:" { ++lines; if (NF != 14 || $11 <= 0 || $12 <= 0 || $12 > $13 || $13 > $14) ++bad }
        END { exit !lines || bad }' "$scratch/out"
}
for collective in barrier allreduce bcast reduce allgather; do
    bytes=64 processes=2
    [ "$collective" != barrier ] || bytes=0 processes=3
    check "$collective is measured" job $processes "$tuned" --sizes 64:64 --budget 1 "$collective"
    check "all algorithms of $collective are measured or excluded with a reason" test "$(numbers $collective $bytes)" = "$(all_numbers $collective)"
    check "each time of $collective has quartiles" of_each_quartiles
    cp "$scratch/out" "$scratch/of_$collective"
done
check "rotating and fixed roots are measured" test "$(cut -d ' ' -f 5 "$scratch/of_bcast" | sort -u | tr '\n' ' ')" = "0 each "
check "an algorithm for two processes is excluded" grep -q "^tuned-left-out: barrier 3 5 two_proc 0 it does not support" "$scratch/of_barrier"
check "an algorithm that changes the order is excluded" grep -q "^tuned-left-out: reduce 2 2 chain 0 it reorders" "$scratch/of_reduce"
check "barriers of two processes are measured" job 2 "$tuned" --budget 1 barrier
check "the algorithm two_proc is measured with two processes" said "^tuned: barrier 1 2 - 0 5 two_proc "
check "nicbarr_tuned ignores a forced algorithm" job 3 --mca coll_tuned_barrier_algorithm 5 "$tuned" --budget 1 barrier
check "the built-in decision of coll/tuned is measured as well" said "^tuned: barrier 1 3 - 0 0 "
wrong() { ! job 2 "$tuned" "$@" && said "^nicbarr_tuned: nicbarr_tuned "; }
check "MPI_Gather is refused" wrong gather
check "a missing collective is refused" wrong

# ---- the rules file
# `nicbarr tune` runs as if installed, with a fake mpirun that prints measurements. According to these, double_ring is
# best for barriers, and basic_linear for MPI_Allreduce of 64 bytes or more; for 256 bytes only the built-in decision of
# coll/tuned was measured.
libexec=$scratch/libexec
mkdir -p "$libexec/bench/tuned" "$scratch/bin"
ln -s "$srcdir/bench/report" "$libexec/bench/"
ln -s "$srcdir/ompi" "$libexec/"
cat > "$scratch/bin/mpirun" << END
#!/bin/sh
[ "\$1" != --version ] || exec "$(command -v mpirun)" --version
cat "$scratch/lines"
END
chmod +x "$scratch/bin/mpirun"
{
    own="0 ignore 0 4 9.000 0.9000 1.0000 1.1000" other="0 4 5.000 1.7000 1.8000 1.9000"
    printf 'tuned: %s\n' "barrier 1 4 - 0 $own" "barrier 1 4 - 0 2 double_ring $other" \
        "allreduce 1 4 - 64 $own" "allreduce 1 4 - 64 1 basic_linear $other" "allreduce 1 4 - 256 $own"
} > "$scratch/lines"
write_rules() {
    PATH=$scratch/bin:$PATH NICBARR_LIBEXECDIR=$libexec "$builddir/tools/nicbarr" tune \
        --write-tuned-rules "$scratch/rules" --per-host 4 --times 1 > "$scratch/out" 2>&1
}
check "a rules file is written" write_rules

# pml/monitoring, which counts the messages for the following checks, crashes in 5.0.7 and 6.0.0rc2 of Debian.
is_open_mpi 4 || finish

# ---- the algorithms that Open MPI uses, recognized by the pairs of ranks between which each operation sends a message
sends() { # FILE OPERATION BYTES MPIRUN-OPTION...: writes these pairs to FILE
    local size=(-m "$3:$3") preference=tuned,basic,libnbc,self,inter
    [ "$3" != 0 ] || size=()
    rm -f "$scratch"/sent.*
    job 4 --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$scratch/sent" \
        "${@:4}" "$builddir/bench/nicbarr_bench" "$2" -a "$preference" -b "$preference" \
        "${size[@]}" -c 1 -i 100 -x 0 --no-validation &&
        awk -F '\t' '/^[EI]/ { split($5, messages, " "); if (messages[1] >= 100) print $2, $3 }' "$scratch"/sent.* |
        sort -u > "$scratch/$1" && [ -s "$scratch/$1" ]
}
dynamic=(--mca coll_tuned_use_dynamic_rules 1)
with=("${dynamic[@]}" --mca coll_tuned_dynamic_rules_filename "$scratch/rules")
same() { cmp -s "$scratch/$1" "$scratch/$2"; }
other() { ! same "$@"; }
ruled() { # NAME OPERATION BYTES NUMBER of the algorithm in the rules
    check "$1 by the built-in decision of coll/tuned" sends own "$2" "$3"
    check "$1 by the algorithm of the rules, forced by a parameter" \
        sends forced "$2" "$3" "${dynamic[@]}" --mca "coll_tuned_$2_algorithm" "$4"
    check "these two algorithms send different messages" other own forced
    check "$1 with the rules file" sends ruled "$2" "$3" "${with[@]}"
    check "with the rules file $1 sends the messages of the algorithm in the rules" same ruled forced
}
ruled MPI_Barrier barrier 0 2
ruled "MPI_Allreduce of 64 bytes" allreduce 64 1
for bytes in 60 256; do
    check "MPI_Allreduce of $bytes bytes by the built-in decision of coll/tuned" sends own allreduce $bytes
    check "its messages differ from those of the algorithm in the rules" other own forced
    check "MPI_Allreduce of $bytes bytes with the rules file" sends ruled allreduce $bytes "${with[@]}"
    check "the rules file does not affect MPI_Allreduce of $bytes bytes" same ruled own
done
finish
