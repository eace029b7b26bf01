#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Implements `nicbarr evaluate`. It runs every experiment of nicbarr_experiments, which measures NIC-based barriers and
# those of Open MPI alternately within each job, on this node and on several hosts. Then it writes a page with plots,
# tables and raw data (page.sh).
#
# If an experiment fails, the page contains a line about it, and the remaining experiments are run. All experiments
# have equal shares of the time, which are shortened if jobs start slowly. Experiments are run in the order of the
# list, each in all places, and when the time is up, the remaining ones are omitted. The script only overwrites a
# directory that contains the log of an earlier evaluation. usage() lists the options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
nethosts=$top/testbeds/hosts/nethosts
log_name=evaluation.log

usage() {
    cat << END
Usage: nicbarr evaluate [OPTION...]
Compares NIC-based barriers with those of Open MPI on this machine, as the
papers did, and writes a page with plots, tables and raw data.

  --nodes N          on N hosts, which are network namespaces of this machine
                     (1: only on this node; default: on this node, and on 4
                     hosts if permitted)
  --per-host N       processes on each of these hosts (default 1)
  --nic NIC          their NIC: soft, kernel (needs root), auto or none (default
                     auto)
  --budget MINUTES   approximate limit of the total time (default 8)
  --only LIST        only these experiments, such as latency,granularity; of
                     ${experiments[*]:0:6}
                     ${experiments[*]:6}
  --seed N           of the random numbers (default 1)
  --output DIR       directory of the page (default nicbarr-evaluation)
  --force            even if DIR has files that are not an evaluation's
  --help             this text
  --version          the version
END
}

command_name='nicbarr evaluate'
# shellcheck source=bench/report/command.sh
. "$here/command.sh"
# shellcheck source=bench/report/page.sh
. "$here/page.sh"
# shellcheck source=bench/report/papers.sh
. "$here/papers.sh"

# ---- the experiments: what is measured, who proposed it, what is shown
declare -A title prose plots tables
# (-myr: the same over btl/myr instead of Open MPI's default)
experiments=(latency overhead granularity arrival applications bcast rtt rtt-myr fuzzy)
title[latency]="Barrier latency"
prose[latency]="Consecutive barriers of growing numbers of processes: the time of a barrier with nicbarr and with Open \
MPI's own function, and the factor of improvement. Follows section 4.2 of $buntinas_mpi (figures 4 and 5)."
plots[latency]="latency=Barrier latency over the number of processes
latency_factor=Factor of improvement over the number of processes"
title[overhead]="MPI's overhead"
prose[overhead]="The same barrier, executed by the library without MPI and called as MPI_Barrier. The difference is \
the overhead of MPI. Follows section 4.1 of $buntinas_mpi (figure 3)."
plots[overhead]="overhead=The barrier by the library alone and by MPI_Barrier
overhead_difference=What MPI adds"
title[granularity]="Granularity of computation"
prose[granularity]="A loop of computation and a barrier, with computation of growing length, and how much \
computation a program needs between barriers to spend a given share of its time computing (its efficiency). The faster \
the barrier, the finer the granularity that is worthwhile. Follows section 4.3 of $buntinas_mpi (figures 6 and 7)."
plots[granularity]="granularity=Time of a loop over its computation
efficiency=Least computation between barriers for an efficiency"
tables[granularity]="granularity efficiency"
title[arrival]="Varying arrival times"
prose[arrival]="A loop of computation and a barrier in which the computation of each process differs from the mean at \
random, by up to the given percentage. Processes that wait for the last one gain less from a fast barrier. Follows \
section 4.4 of $buntinas_mpi (figures 8 and 9)."
plots[arrival]="arrival=Time of a loop at the largest variation
arrival_difference=What nicbarr saves in each loop, at each variation"
title[applications]="Synthetic applications"
prose[applications]="Three programs of several steps, each of which computes and then has a barrier: much \
communication (360 µs of computation in 8 steps), mixed (2100 µs in 20) and much computation (9450 µs in 10); each \
process's computation varies by 10 %. Follows section 4.5 of $buntinas_mpi (figure 10)."
plots[applications]="applications=Time of a run
applications_factor=Factor of improvement
applications_efficiency=Efficiency: computation in the whole time"
title[bcast]="Broadcasts"
prose[bcast]="MPI_Bcast of growing messages: the time until the root has received a reply of the last process, with \
nicbarr and with Open MPI's own function, and the factor of improvement. Follows section 4.4 of $zhang (table 4.4), \
except that the time of the reply is included, which the thesis subtracts."
plots[bcast]="bcast=Broadcast and reply over the size of the message
bcast_factor=Factor of improvement over the size of the message"
title[rtt]="Round trips to several peers"
prose[rtt]="One process sends a message to each of P peers, all of which reply at once: the time until the last \
reply has arrived, and a model fitted to the minimum. If it grows more slowly than P, it is faster to send to several \
peers in each round, as the n-way dissemination barrier does. Follows section 2 of $hoefler (figures 2 to 4)."
plots[rtt]="rtt=Round trip to all peers
rtt_per_peer=Round trip divided by the number of peers"
title[rtt-myr]="Round trips to several peers over btl/myr"
prose[rtt-myr]="Round trips whose messages are sent through nicbarr's NIC (btl/myr), and not through the BTL that Open \
MPI selects by default."
plots[rtt-myr]="rtt-myr=Round trip to all peers over btl/myr
rtt-myr_per_peer=Round trip divided by the number of peers, over btl/myr"
title[fuzzy]="Fuzzy barriers"
prose[fuzzy]="MPI_Ibarrier, computation, then its wait: how much of the barrier overlaps with the computation. A \
NIC-based barrier progresses without the host. For comparison: the same computation after nicbarr's blocking barrier. \
Follows the fuzzy barrier of sections 1 and 5.2 of $buntinas_gm."
plots[fuzzy]="fuzzy=Barrier and computation together over the length of the computation"
labels=(a=nicbarr "b=Open MPI" "factor=times faster" library="library alone" mpi=MPI_Barrier overhead="MPI adds"
    difference=saved work=computation a_work="computation with nicbarr" b_work="computation with Open MPI"
    a_efficiency="efficiency with nicbarr" b_efficiency="efficiency with Open MPI"
    rtt_min="least round trip" rtt="round trip" compute=computation variation="variation ±")

# ---- the command line
nodes='' per_host=1 nic=auto budget=8 seed=1 output=nicbarr-evaluation force=no
arguments=$*
while [ $# -gt 0 ]; do
    option=$1
    case $option in
        --nodes | --per-host | --nic | --budget | --only | --seed | --output)
            [ $# -ge 2 ] || bad "$option needs a value"
            shift ;;
    esac
    case $option in
        --nodes) number "$1" 1 250 "$option"; nodes=$1 ;;
        --per-host) number "$1" 1 1000 "$option"; per_host=$1 ;;
        --budget) number "$1" 1 10000 "$option"; budget=$1 ;;
        --seed) number "$1" 0 999999999 "$option"; seed=$1 ;;
        --nic)
            case $1 in soft | kernel | auto | none) nic=$1 ;; *) bad "there is no NIC '$1'" ;; esac ;;
        --only)
            IFS=, read -ra only <<< "$1"
            [ ${#only[@]} -gt 0 ] || bad "--only needs experiments"
            for one in "${only[@]}"; do
                case " ${experiments[*]} " in
                    *" $one "*) ;;
                    *) bad "there is no experiment '$one'" ;;
                esac
            done
            experiments=("${only[@]}") ;;
        --output) output=$1 ;;
        --force) force=yes ;;
        --help) usage; exit 0 ;;
        --version) tell_version; exit 0 ;;
        *) bad "unknown argument '$option'" ;;
    esac
    shift
done
[ "$nodes" != 1 ] || [ "$per_host" = 1 ] || bad "--per-host is for several hosts"

# ---- requirements
need mpirun:openmpi-bin gnuplot:gnuplot-nox awk:mawk
need_ours nicbarr_experiments
hosts_why=
if [ "$nodes" != 1 ]; then
    options=()
    [ "$nic" != kernel ] || options=(--kernel)
    hosts_why=$("$nethosts" "${options[@]}" --shell "${nodes:-4}" true 2>&1) && hosts_why=
    if [ -n "$hosts_why" ] && [ -n "$nodes" ]; then
        fail "cannot create hosts: $(tail -n 1 <<< "$hosts_why")"
    fi
fi
may_write "$output" "$log_name" $force "an evaluation's"
# Files of an earlier evaluation could be mistaken for files of this one.
if [ -e "$output/$log_name" ]; then
    for part in node oversubscribed hosts; do
        for experiment in "${!title[@]}"; do
            for name in ${tables[$experiment]-$experiment}; do
                rm -f -- "$output/$part/$name.csv" "$output/$part/$name"{,_*}.{svg,pdf}
            done
        done
        rmdir -- "$output/$part" 2> /dev/null
    done
    rm -f -- "$output/index.html" "$output/summary.csv"
fi
output=$(begin_dir "$output" "$log_name") || exit 1
log=$output/$log_name

# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
# Results must not depend on the measurements of earlier jobs, and short jobs need enough time for their own.
export OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100

# ---- the parts: where the experiments run
declare -A part_title part_text
parts=()
processors=$(nproc)
[ "$processors" -gt 1 ] || processors=2
if [ "${nodes:-1}" = 1 ]; then
    parts+=(node oversubscribed)
    part_title[node]="This node, $processors processes"
    part_text[node]="All processes meet in shared memory, each has a CPU to itself."
    part_title[oversubscribed]="This node, $((2 * processors)) processes"
    part_text[oversubscribed]="Twice as many processes as CPUs: a barrier includes changes of process."
fi
if [ "$nodes" != 1 ] && [ -z "$hosts_why" ]; then
    nodes=${nodes:-4}
    parts+=(hosts)
    part_title[hosts]="$nodes hosts, $per_host process$([ "$per_host" = 1 ] || echo es) on each"
    part_text[hosts]="Hosts are network namespaces of this machine, joined by a bridge, so all of them share its \
processors. nicbarr's NIC: $nic. Open MPI's barrier uses TCP."
fi

# Sets the array launch to the command that starts a job in a part.
launch_in() { # PART EXPERIMENT
    # shellcheck disable=SC2206 # words
    case $1 in
        node) launch=(mpirun -np "$processors" $bound) ;;
        oversubscribed) launch=(mpirun -np $((2 * processors)) $unbound) ;;
        hosts) launch=("$nethosts" "${options[@]}" "$nodes" "$per_host" --mca coll_nicbarr_nic "$nic") ;;
    esac
    case $2 in *-myr) launch+=(--mca pml ob1 --mca btl "myr,self") ;; esac
}

runs=$((${#parts[@]} * ${#experiments[@]}))
launching=2 # seconds for a job to start and to end
share=$((budget * 60 / runs - launching))
[ $share -ge 1 ] || share=1
expected=$((runs * (share + launching)))
[ $expected -le $((budget * 60)) ] || expected=$((budget * 60))
now() { date +%s; }
started=$(now)

# Returns whether the CSV has rows below its header.
has_rows() { [ -f "$1" ] && [ "$(grep -vc '^#' "$1")" -gt 1 ]; }

# Prints the line of an output that gives the reason why the job failed: the last one printed by a program of
# nicbarr, or else the first line, because mpirun adds many.
reason() { # FILE
    grep -E '^(nicbarr|nethosts|myrd)[a-z_]*: ' "$1" | tail -n 1 | grep . ||
        grep -v '^[-[:space:]]*$' "$1" | head -n 1
}

# Runs an experiment. Sets why[PART/EXPERIMENT] to the reason if it fails, and printed[PART/EXPERIMENT] to its
# output.
declare -A why commands printed
run() { # PART EXPERIMENT
    local run=$1/$2 status name csvs=()
    local launch command said=$output/$1/.said
    launch_in "$1" "$2"
    for name in ${tables[$2]-$2}; do
        csvs+=("$output/$1/$name.csv")
    done
    command=("${launch[@]}" nicbarr_experiments "${2%-myr}" --budget "$share" --seed "$seed" --csv "$output/$run.csv")
    commands[$run]=${command[*]}
    timeout --foreground -k 10 $((5 * share + 60)) "${command[@]}" > "$said" 2>&1 < /dev/null &
    job=$!
    wait $job
    status=$?
    while [ -n "$stopped" ] && kill -0 $job 2> /dev/null; do # (a signal has ended the first wait)
        wait $job
    done
    { printf '\n$ %s\n' "${command[*]}"; cat "$said"; echo "status $status"; } >> "$log"
    if [ -n "$stopped" ]; then
        why[$run]="interrupted"
    elif [ $status = 124 ] || [ $status = 137 ]; then
        why[$run]="it did not end in $((5 * share + 60)) s"
    elif [ $status != 0 ]; then
        why[$run]="status $status: $(reason "$said")"
    else
        for name in "${csvs[@]}"; do
            has_rows "$name" || why[$run]="it wrote no data to ${name##*/}"
        done
    fi
    printed[$run]=$(cat "$said")
    rm -f "$said"
    job=
    [ -z "${why[$run]-}" ]
}

# ---- running
job= # the running job
stopped= # the user has interrupted: the page shows what was measured
interrupted() {
    stopped=yes
    [ -z "$job" ] || kill "$job" 2> /dev/null
}
trap interrupted INT TERM
run_begins
echo "nicbarr evaluate $arguments, $date" >> "$log"
busy= # other programs are using the machine
if awk -v load="${load_before%% *}" -v processors="$(nproc)" 'BEGIN { exit !(load > processors / 2) }'; then
    busy="The machine is busy: load ${load_before%% *} on $(nproc) CPUs. The measurements are unreliable"
    echo "$busy."
fi
echo "$runs experiments, about $(clock $expected) minutes"
[ -z "$hosts_why" ] || echo "(only this node, as hosts cannot be created: $(tail -n 1 <<< "$hosts_why"))"
n=0 failures=0 left_out=0 most=$share launched=0
for experiment in "${experiments[@]}"; do
    for part in "${parts[@]}"; do
        mkdir -p "$output/$part"
        n=$((n + 1)) gone=$(($(now) - started))
        if [ -n "$stopped" ]; then
            why[$part/$experiment]="not run, as the evaluation was interrupted"
            continue
        fi
        if [ $gone -ge $((budget * 60)) ]; then
            why[$part/$experiment]="not run, as the time was up: give it more by --budget"
            left_out=$((left_out + 1))
            continue
        fi
        if [ $n -gt 1 ]; then # assume that the remaining ones take as long as the previous ones
            expected=$((gone * runs / (n - 1)))
            [ $expected -le $((budget * 60)) ] || expected=$((budget * 60))
            share=$(((budget * 60 - gone) / (runs - n + 1) - launched / (n - 1)))
            share=$((share < 1 ? 1 : share > most ? most : share))
        fi
        printf '%3d of %d  %-14s %-12s  %s to go' $n $runs "$part" "$experiment" "$(clock $((expected - gone)))"
        if run "$part" "$experiment"; then
            echo ", $(($(now) - started - gone)) s"
        else
            failures=$((failures + 1))
            echo ", FAILED: ${why[$part/$experiment]}"
        fi
        took=$(($(now) - started - gone))
        launched=$((launched + (took > share ? took - share : 0)))
    done
done
[ $left_out = 0 ] || echo "$left_out experiments were left out for lack of time (--budget)"

# ---- the page
facts() {
    run_facts $(($(now) - started))
    printf '%s\t%s\n' "Seed" "$seed" \
        "Command" "nicbarr evaluate${arguments:+ $arguments}"
}

# Adds a warning to the page if factors are unreliable, that is, if they are struck out in its tables.
unsure() { # CSV
    local worst
    worst=$(awk -F , -v apart="$page_apart" '
        /^#/ { next }
        !column { column = -1; for (i = 1; i < NF - 1; i++) if ($i == "factor" && $(i + 1) == "factor_q1") column = i; next }
        column > 0 && $(column + 2) > apart * $(column + 1) { bad++; ratio = $(column + 2) / ($(column + 1) + 1e-9)
            if (ratio > most) { most = ratio; text = sprintf("%.2g to %.2g", $(column + 1), $(column + 2)) } }
        END { if (bad) print bad ", with quartiles as far apart as " text }' "$output/$1")
    [ -z "$worst" ] || page_worthless "Factors that are struck out are unreliable ($worst). The machine was busy with \
other work."
}

show() { # PART EXPERIMENT: also shows the data that a failed experiment has written
    local part=$1 run=$1/$2 plot caption name
    page_subsection "${title[$2]}"
    page_text "${prose[$2]}"
    [ -z "${why[$run]-}" ] || page_failure "${title[$2]} failed: ${why[$run]}"
    while IFS='=' read -r plot caption; do
        # latency_factor.gp draws from latency.csv
        ! has_rows "$output/$part/${plot%%_*}.csv" ||
            page_plot "$part/$plot" "$here/${plot/-myr/}.gp" "$caption" "$part/${plot%%_*}.csv" || failures=$((failures + 1))
    done <<< "${plots[$2]}"
    for name in ${tables[$2]-$2}; do
        has_rows "$output/$part/$name.csv" || continue
        unsure "$part/$name.csv"
        page_table "$part/$name.csv" "${labels[@]}"
        page_raw "$part/$name.csv"
    done
    [ -z "${printed[$run]-}" ] || page_details "What the experiment printed" <<< "${printed[$run]}"
}

# The latencies of the largest number of processes in each part, as CSV; nothing if there are none.
summary() {
    local part csv head=
    for part in "${parts[@]}"; do
        csv=$output/$part/latency.csv
        [ -z "${why[$part/latency]-}" ] || continue
        if [ -z "$head" ]; then
            head=where,$(grep -m 1 -v '^#' "$csv")
            echo "$head"
        fi
        echo "${part_title[$part]/,/:},$(tail -n 1 "$csv")"
    done
}

page_begin "$output/index.html" "An evaluation of NIC-based barriers" \
    "nicbarr against Open MPI's own MPI_Barrier, measured alternately in the same jobs"
page_section "Machine and versions"
facts | page_facts
page_text "Figures are medians, with quartiles beside them; plots show quartiles as bands or bars. All times are in \
microseconds. Figures of two runs should not be compared: machines change their speed from minute to minute, which \
within a job meets both sides alike."
for run in "${parts[@]}"; do
    for experiment in "${experiments[@]}"; do
        [ -z "${commands[$run/$experiment]-}" ] || echo "${commands[$run/$experiment]}"
    done
done | page_details "The commands that were run"
page_link "$log_name" "What they printed"
[ -z "$stopped" ] || page_failure "The evaluation was interrupted: this is what there was of it."
[ -z "$busy" ] || page_worthless "$busy: measure again when nothing else runs."
[ -z "$hosts_why" ] ||
    page_failure "Several hosts were left out: $(tail -n 1 <<< "$hosts_why")"
if [[ " ${experiments[*]} " = *" latency "* ]]; then
    summary > "$output/summary.csv"
    if [ -s "$output/summary.csv" ]; then
        page_section "In short"
        page_text "MPI_Barrier of the most processes in each place; what else was measured is below."
        unsure summary.csv
        page_table summary.csv "${labels[@]}"
        page_raw summary.csv
    else
        rm "$output/summary.csv"
    fi
fi
for part in "${parts[@]}"; do
    page_section "${part_title[$part]}"
    page_text "${part_text[$part]}"
    for experiment in "${experiments[@]}"; do
        show "$part" "$experiment"
    done
done
page_papers
page_end || fail "cannot write $output/index.html"
echo "The page: $output/index.html"
[ -z "$stopped" ] || fail "interrupted; the page shows what was measured until then" 130
if [ $failures != 0 ]; then
    fail "$failures of the experiments and plots failed; the page gives the reasons"
fi
