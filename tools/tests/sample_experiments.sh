#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A fake of nicbarr_experiments with the same command line. It writes plausible CSV files, which are always the
# same, without MPI. evaluate_test.sh makes mpirun run it.
#
#     sample_experiments.sh EXPERIMENT --budget S --seed N --csv FILE
#
# SAMPLE_FAILS: the experiment that fails. SAMPLE_LATE: the one that fails after it has written its data. SAMPLE_EMPTY:
# the one that writes nothing and succeeds. SAMPLE_PROCESSES: the number of processes in its output. SAMPLE_SPREAD: how
# far the third quartiles are above the medians. SAMPLE_HANGS: the experiment that does not end; it first writes its
# process number to the file `pid`.
set -eu
experiment=$1 seed=0 csv=
shift
while [ $# -gt 0 ]; do
    case $1 in
        --budget) : ;;
        --seed) seed=$2 ;;
        --csv) csv=$2 ;;
        *) echo "sample_experiments.sh: what is $1?" >&2; exit 64 ;;
    esac
    shift 2
done
fail() {
    echo "the network is <down> & out" >&2
    exit 3
}
[ "$experiment" != "${SAMPLE_FAILS-}" ] || fail
if [ "$experiment" = "${SAMPLE_HANGS-}" ]; then
    echo $$ > pid
    exec sleep 600
fi
[ "$experiment" != "${SAMPLE_EMPTY-}" ] || exit 0

# Functions for awk: a value with quartiles a few percent around it, and the latencies of barriers.
functions='
function q(value) { return sprintf("%.3f,%.3f,%.3f", value, value * 0.96, value * spread) }
function a(p) { return 1.8 + 6.2 * log(p) / log(2) + 0.15 * p }
function b(p) { return 4.1 + 13 * log(p) / log(2) + 0.9 * p }
'
write() { # PROGRAM (awk) prints the rows
    local file=$csv
    [ "$1" = "$experiment" ] || file=$(dirname "$csv")/$1.csv
    {
        printf '# experiment: %s\n# seed: %s\n# processes: %s\n# nodes: 1\n' "$1" "$seed" "$processes"
        printf '# open_mpi: 4.1.4\n# nicbarr: 0.1.0\n# a: nicbarr\n# b: ^nicbarr\n# oversubscribed: no\n%s\n' "$2"
        awk -v p="$processes" -v spread="${SAMPLE_SPREAD-1.07}" "$functions BEGIN { $3 }"
    } > "$file"
}
processes=${SAMPLE_PROCESSES-16}
case $experiment in
    latency)
        write latency processes,a_us,a_q1,a_q3,b_us,b_q1,b_q3,factor,factor_q1,factor_q3 '
            for (n = 2; n <= p; n++) print n "," q(a(n)) "," q(b(n)) "," q(b(n) / a(n))' ;;
    overhead)
        write overhead processes,library_us,library_q1,library_q3,mpi_us,mpi_q1,mpi_q3,overhead_us,overhead_q1,overhead_q3 '
            for (n = 2; n <= p; n *= 2) print n "," q(a(n)) "," q(a(n) + 1.2) "," q(1.2)' ;;
    granularity)
        write granularity work_us,a_us,a_q1,a_q3,b_us,b_q1,b_q3 '
            for (w = 1; w <= 4096; w *= 2) print w "," q(w + a(p)) "," q(w + b(p))'
        write efficiency efficiency,a_work_us,b_work_us '
            split("0.25 0.5 0.75 0.9", e, " ")
            for (i = 1; i <= 4; i++) printf "%s,%.2f,%.2f\n", e[i], a(p) * e[i] / (1 - e[i]), b(p) * e[i] / (1 - e[i])' ;;
    arrival)
        write arrival work_us,variation_percent,a_us,a_q1,a_q3,b_us,b_q1,b_q3,difference_us,difference_q1,difference_q3 '
            for (w = 64; w <= 4096; w *= 2)
                for (v = 0; v <= 20; v += 5) {
                    late = w * v / 100
                    saved = (b(p) - a(p)) / (1 + late / 200)
                    print w "," v "," q(w + late + a(p)) "," q(w + late + a(p) + saved) "," q(saved)
                }' ;;
    applications)
        write applications application,compute_us,a_us,a_q1,a_q3,b_us,b_q1,b_q3,factor,factor_q1,factor_q3,a_efficiency,b_efficiency '
            split("communication-intensive 360 8 mixed 2100 20 computation-intensive 9450 10", f, " ")
            for (i = 1; i <= 9; i += 3) {
                c = f[i + 1]; ta = 1.08 * c + f[i + 2] * a(p); tb = 1.08 * c + f[i + 2] * b(p)
                printf "%s,%s,%s,%s,%s,%.3f,%.3f\n", f[i], c, q(ta), q(tb), q(tb / ta), c / ta, c / tb
            }' ;;
    bcast)
        write bcast bytes,a_us,a_q1,a_q3,b_us,b_q1,b_q3,factor,factor_q1,factor_q3 '
            for (n = 4; n <= 262144; n *= 2) {
                ta = a(p) + n / 900; tb = b(p) + n / 700
                print n "," q(ta) "," q(tb) "," q(tb / ta)
            }' ;;
    rtt)
        write rtt peers,rtt_min_us,rtt_us,rtt_q1,rtt_q3,model_us '
            for (n = 1; n < p; n++) {
                m = 4 + 0.9 * n + 3 / n
                printf "%d,%.3f,%s,%.3f\n", n, m, q(1.2 * m + n % 3 / 5), m * 1.1
            }' ;;
    fuzzy)
        write fuzzy work_us,work_alone_us,a_us,a_q1,a_q3,b_us,b_q1,b_q3,blocking_us '
            for (w = 0; w <= 160; w += 16) {
                x = w > a(p) ? w : a(p)
                printf "%d,%.2f,%s,%s,%.2f\n", w, w, q(x + 2), q(w * 0.6 + b(p)), w + b(p)
            }' ;;
    *)
        echo "there is no experiment '$experiment'" >&2
        exit 64 ;;
esac
[ "$experiment" != "${SAMPLE_LATE-}" ] || fail
