#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Implements `nicbarr tune`. For each requested shape it starts jobs of nicbarr_bench, in which nicbarr measures its
# algorithms thoroughly and adds the results to a tuning cache (docs/tuning-cache.md). Then it prints a table of the
# choices, and writes a page with plots (page.sh). With --write-tuned-rules it measures the algorithms of Open MPI's
# coll/tuned instead (tuned_rules.sh).
#
# The jobs do not read the cache, so each of them measures. All shapes are measured once, then all of them again. If
# the machine is busy for a minute, this spoils one of several measurements of some shapes, instead of all
# measurements of one shape.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

usage() {
    cat << END
Usage: nicbarr tune --write FILE [OPTION...] [-- MPIRUN-OPTION...]
  or:  nicbarr tune --write-tuned-rules FILE [OPTION...] [-- MPIRUN-OPTION...]
Measures which algorithms are best on this machine, or on several hosts, and
adds the results to FILE, a tuning cache. Jobs read it with coll_nicbarr_cache
FILE or auto,FILE. The machine should be idle.

With --write-tuned-rules it measures the algorithms of Open MPI's coll/tuned,
and FILE becomes a rules file for that component, which works without nicbarr.

  --write FILE       the tuning cache; its directory must exist
  --write-tuned-rules FILE
                     the rules file, likewise
  --per-host LIST    processes per host, such as 1,2,16 (default 2, 4, 8... and
                     the number of CPUs; on several hosts also 1)
  --hosts LIST       on these hosts, such as node1,node2 (default: only on this
                     one)
  --nodes LIST       on these numbers of hosts (default: all)
  --only LIST        only these collectives, of
                     ${operations[*]}
                     (rules: not gather and scatter, and allgather only if it
                     is named here)
  --times N          measure each N times (default 5; rules: 3)
  --budget MS        milliseconds for each measurement (default 1000; rules:
                     300)
  --sizes MIN:MAX    rules: bytes of messages (default 4:1048576)
  --output DIR       directory of a page with plots (default nicbarr-tuning;
                     needs gnuplot; not for rules)
  --help             this text
  --version          the version
END
}

command_name='nicbarr tune'
# shellcheck source=bench/report/command.sh
. "$here/command.sh"

operations=(barrier allreduce bcast reduce allgather gather scatter)
# The range of sizes that nicbarr serves on one node and on several (coll_nicbarr/data/classes.h). A size is the number
# of bytes of the message, or of all ranks together.
least=8 most_on_one=4194304 most_across=4096

# ---- the command line
file='' of_tuned=no per_host=() hosts=() nodes=() only=() times='' budget='' range='' more=()
output=nicbarr-tuning
log_name=tuning.log
arguments=$*
list() { # VALUE EXAMPLE: words
    IFS=, read -ra words <<< "$1"
    [ ${#words[@]} -gt 0 ] || bad "$option needs a list, such as $2"
}
numbers() { # VALUE MOST
    local word
    list "$1" 2,4
    for word in "${words[@]}"; do number "$word" 1 "$2" "$option"; done
}
while [ $# -gt 0 ]; do
    option=$1
    case $option in
        --write | --write-tuned-rules | --per-host | --hosts | --nodes | --only | --times | --budget | --sizes | \
            --output)
            [ $# -ge 2 ] || bad "$option needs a value"
            shift ;;
    esac
    case $option in
        --write | --write-tuned-rules)
            [ -z "$file" ] || bad "only one FILE can be written"
            file=$1
            [ "$option" = --write ] || of_tuned=yes ;;
        --per-host) numbers "$1" 1000; per_host=("${words[@]}") ;;
        --nodes) numbers "$1" 100000; nodes=("${words[@]}") ;;
        --hosts)
            list "$1" node1,node2
            hosts=("${words[@]}")
            one=$(printf '%s\n' "${hosts[@]}" | sort | uniq -d | head -n 1)
            [ -z "$one" ] || bad "--hosts has '$one' twice" ;;
        --only)
            list "$1" barrier,bcast
            for one in "${words[@]}"; do
                [[ " ${operations[*]} " = *" $one "* ]] || bad "there is no collective '$one'"
            done
            only=("${words[@]}") ;;
        --sizes)
            number "${1%%:*}" 4 268435456 "MIN of $option"
            number "${1#*:}" "${1%%:*}" 268435456 "MAX of $option"
            [ $((${1%%:*} % 4)) = 0 ] || bad "MIN of $option must be a multiple of 4"
            range=$1 ;;
        --times) number "$1" 1 8 "$option"; times=$1 ;;
        --budget) number "$1" 1 60000 "$option"; budget=$1 ;;
        --output) output=$1 ;;
        --help) usage; exit 0 ;;
        --version) tell_version; exit 0 ;;
        --) shift; more=("$@"); break ;;
        *) bad "unknown argument '$option'" ;;
    esac
    shift
done
[ -n "$file" ] || bad "--write FILE is missing"
if [ $of_tuned = yes ]; then
    # shellcheck source=bench/report/tuned_rules.sh
    . "$here/tuned_rules.sh"
    operations=("${tuned_collectives[@]}")
    for one in "${only[@]}"; do
        [[ " ${operations[*]} ${tuned_asked_for[*]} " = *" $one "* ]] ||
            bad "tuned's rules for '$one' would make programs hang"
    done
else
    [ -z "$range" ] || bad "--sizes is for --write-tuned-rules"
    case $file in
        *,*) bad "the name of FILE must not contain a comma" ;;
        auto | none | remeasure) file=./$file ;;
    esac
fi
[ ${#only[@]} -eq 0 ] || operations=("${only[@]}")
[ ${#hosts[@]} -gt 0 ] || [ ${#nodes[@]} -eq 0 ] || bad "--nodes needs --hosts"
[ ${#nodes[@]} -gt 0 ] || nodes=($((${#hosts[@]} > 0 ? ${#hosts[@]} : 1)))
for count in "${nodes[@]}"; do
    [ "$count" -le $((${#hosts[@]} > 0 ? ${#hosts[@]} : 1)) ] || bad "--hosts has fewer than $count hosts"
done
if [ ${#per_host[@]} -eq 0 ]; then
    processors=$(nproc)
    [ ${#hosts[@]} -eq 0 ] || per_host=(1)
    for ((count = 2; count < processors; count *= 2)); do per_host+=("$count"); done
    per_host+=("$processors")
fi

# ---- requirements
need mpirun:openmpi-bin awk:mawk
[ $of_tuned = yes ] || need_ours nicbarr_bench
dir=$(cd -- "$(dirname -- "$file")" 2> /dev/null && pwd) || fail "the directory of '$file' does not exist"
[ ! -d "$file" ] || fail "'$file' is a directory"
file=${dir%/}/$(basename -- "$file")
[ ! -e "$file" ] || [ -w "$file" ] || fail "'$file' cannot be written"
probe=$(mktemp -- "$dir/nicbarr.XXXXXX" 2> /dev/null) || fail "'$dir' cannot be written"
rm -f -- "$probe"
[ $of_tuned = yes ] || may_write "$output" "$log_name" no "a tuning's"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
[ ${#hosts[@]} = 0 ] || on_several_hosts
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
: > "$scratch/lines"

# ---- the jobs
shapes=()
for count in "${nodes[@]}"; do
    for each in "${per_host[@]}"; do
        [ $((count * each)) -lt 2 ] || shapes+=("$count $each")
    done
done
[ ${#shapes[@]} -gt 0 ] || fail "nothing to measure: a barrier needs at least two processes"

launch() { # HOSTS PROCESSES-ON-EACH ARGUMENT-OF-MPIRUN...
    local where=() host
    for host in "${hosts[@]:0:$1}"; do where+=("$host:$2"); done
    [ ${#hosts[@]} -eq 0 ] || where=(--host "$(IFS=,; echo "${where[*]}")" --map-by "ppr:$2:node")
    mpirun -np $(($1 * $2)) "${where[@]}" "${more[@]}" "${@:3}"
}
counted() { # NUMBER NOUN ENDING-OF-THE-PLURAL
    echo "$1 $2$([ "$1" = 1 ] || echo "$3")"
}
shape_name() { # HOSTS PROCESSES-ON-EACH
    echo "$(counted "$2" process es) on $([ "$1" = 1 ] && echo "one node" || echo "each of $1 nodes")"
}
advice="nicbarr doctor${hosts[0]:+ --hosts $(IFS=,; echo "${hosts[*]}")} shows what is wrong"
job_failed() { # WHAT OUTPUT
    say "$1: the job failed, and is left out:"
    { echo; grep -vE '^[- ]*$|nicbarr: MPI_' "$2" | head -n 5; } >&2
    # The other jobs would probably fail as well, perhaps each of them after a timeout.
    [ $finished -gt 0 ] || fail "the first job failed, and no other is started: $advice"
}
say() { # TEXT: on a terminal, replaces the previous line
    if [ -t 2 ]; then printf '\r\033[K%s' "$1" >&2; else echo "$1" >&2; fi
}
stopped= # set if the user interrupts; the results until then are used
trap 'stopped=yes' INT TERM
if [ $of_tuned = yes ]; then
    write_tuned_rules
    exit
fi

times=${times:-5} budget=${budget:-1000}
calls=() # arguments of nicbarr_bench; rooted collectives are also measured with a constant root, as a separate class
for operation in "${operations[@]}"; do
    calls+=("$operation")
    case $operation in reduce | gather | bcast | scatter) calls+=("$operation --root 0") ;; esac
done
[ ! -e "$output/$log_name" ] || rm -f -- "$output"/shape-*.{csv,json,svg,pdf} "$output/index.html" # files of an earlier tuning
output=$(begin_dir "$output" "$log_name") || exit 1
log=$output/$log_name

job() { # HOSTS PROCESSES-ON-EACH CALL: prints nicbarr's lines
    local processes=$(($1 * $2)) size=() report=() low=$least high=$most_on_one call
    read -ra call <<< "$3"
    [ "$1" = 1 ] || high=$most_across
    case ${call[0]} in
        barrier) ;;
        allgather | gather | scatter) # (nicbarr_bench counts the bytes of one process's part)
            low=$((low / processes)) high=$((high / processes))
            size=(-m "$((low > 1 ? low : 1)):$((high > 1 ? high : 1))") ;;
        *) size=(-m "$low:$high") ;;
    esac
    # The page contains a plot for the barriers of each shape, from the report of the last job.
    [ "$3" != barrier ] || report=(--mca coll_nicbarr_report "$output/shape-$1x$2.json")
    launch "$1" "$2" "${report[@]}" --mca coll_nicbarr_cache "remeasure,$file" \
        --mca coll_nicbarr_tune_budget "$budget" --mca coll_nicbarr_tune_after 20 --mca coll_nicbarr_tune_share 100 \
        --mca coll_nicbarr_verbose 1 nicbarr_bench "${call[@]}" "${size[@]}" -c 1 -i 1 -x 60 --no-validation
}

all=$((${#shapes[@]} * ${#calls[@]} * times)) began=$SECONDS finished=0 failed=0 left='a while'
run_begins
echo "$(counted ${#shapes[@]} shape s), $(counted ${#operations[@]} collective s) (${#calls[@]} with fixed roots)," \
    "$(counted "$times" time s) each: $(counted $all job s); into $file" >&2
echo "nicbarr tune $arguments, $date" >> "$log"
for ((time = 1; time <= times; ++time)); do
    for shape in "${shapes[@]}"; do
        read -r count each <<< "$shape"
        for call in "${calls[@]}"; do
            name="$call, $(shape_name "$count" "$each")"
            say "[$((finished + 1))/$all] $name; $left to go"
            job "$count" "$each" "$call" < /dev/null > "$scratch/out" 2>&1
            status=$?
            { printf '\n%s: status %s\n' "$name" $status
                cat "$scratch/out"; } >> "$log"
            [ -z "$stopped" ] || break 3
            if [ $status != 0 ]; then
                failed=$((failed + 1))
                job_failed "$name" "$scratch/out"
            fi
            finished=$((finished + 1))
            grep 'nicbarr: ' "$scratch/out" | sed "s/^/$finished /" >> "$scratch/lines"
            left=$(clock $(((SECONDS - began) * (all - finished) / finished)))
        done
    done
done
trap - INT TERM
say "$finished jobs in $(clock $((SECONDS - began)))"
[ ! -t 2 ] || echo >&2
[ -z "$stopped" ] || [ $finished = 0 ] || echo "interrupted: the following results are of $finished of $all jobs" >&2

# ---- the choices: from lines
# "JOB ...nicbarr: WHAT on COMMUNICATOR, N processes on WHERE: CHOICE (measured, T us; ...: T us)" to rows of SHAPE,
# WHAT, CHOICE, how many jobs of how many made it, and the two times, separated by tabs. The times are means over the
# jobs that made this choice. If a job reports several choices, the earlier ones were provisional: the last one counts
grep 'tuning cache' "$scratch/lines" | sed 's/.*nicbarr: //' | sort -u >&2
sed -nE 's/^([0-9]+) .*nicbarr: (MPI_[A-Za-z]*( \([a-z ]+\))*( up to [0-9]+ bytes)?) on .*, ([0-9]+ processes on [a-z0-9]+ nodes?): ([^ ]+) \(measured, ([0-9.]+) us.*Open MPI: ([0-9.]+) us.*/\1\t\5\t\2\t\6\t\7\t\8/p' \
    "$scratch/lines" | awk -F '\t' '
    function count_job(row,    made) {
        for (row in last) {
            split(last[row], made, FS)
            if (!((row, made[1]) in chosen)) { names[row] = names[row] FS made[1] }
            seen[row]++
            chosen[row, made[1]]++
            ours[row, made[1]] += log(made[2] > 0 ? made[2] : 5e-4) # a time that is printed as 0.000 is less than 0.0005
            own[row, made[1]] += log(made[3] > 0 ? made[3] : 5e-4)
        }
        split("", last)
    }
    $1 != job { count_job(); job = $1 }
    {
        row = $2 FS $3
        if (!(row in known)) { known[row]; order[++rows] = row }
        last[row] = $4 FS $5 FS $6
    }
    function place_of(what) { # the place of a shape, or of a collective, in the order of the jobs
        if (!(what in place)) { place[what] = ++places }
        return place[what]
    }
    function sort_rows(    r, s, row, part, what, bytes, key) { # by shape, collective and size
        for (r = 1; r <= rows; ++r) {
            row = order[r]
            split(row, part, FS)
            what = part[2]
            sub(/ up to .*/, "", what)
            bytes = match(part[2], /[0-9]+ bytes/) ? substr(part[2], RSTART, RLENGTH) + 0 : 0
            key[row] = sprintf("%9d%9d%9d", place_of(part[1]), place_of(part[1] FS what), bytes)
            for (s = r; s > 1 && key[order[s - 1]] > key[row]; --s) { order[s] = order[s - 1] }
            order[s] = row
        }
    }
    END {
        count_job()
        sort_rows()
        for (r = 1; r <= rows; ++r) {
            row = order[r]
            split(substr(names[row], 2), list, FS)
            best = ""
            for (n in list) { if (best == "" || chosen[row, list[n]] > chosen[row, best]) best = list[n] }
            jobs = chosen[row, best]
            printf "%s\t%s\t%d\t%d\t%.3f\t%.3f\n", row, best, jobs, seen[row],
                exp(ours[row, best] / jobs), exp(own[row, best] / jobs)
        }
        exit rows == 0
    }' > "$scratch/rows" || {
    [ -z "$stopped" ] || fail "interrupted before anything was measured" 130
    fail "nothing was measured: $advice"
}
awk -F '\t' '
    { row[NR] = $0; what = length($2) > what ? length($2) : what; chosen = length($3) > chosen ? length($3) : chosen }
    END {
        what = what > 10 ? what : 10
        form = "  %-" what "s  %-" (chosen > 6 ? chosen : 6) "s  %6s  %9s  %11s  %6s\n"
        for (r = 1; r <= NR; ++r) {
            split(row[r], cell)
            if (cell[1] != shape) {
                printf "%s%s\n" form, (r > 1 ? "\n" : ""), cell[1], "collective", "chosen", "jobs", "us", "Open MPI us", "factor"
                shape = cell[1]
            }
            printf form, cell[2], cell[3], cell[4] " of " cell[5], cell[6], cell[7], sprintf("%.2f", cell[7] / cell[6])
        }
    }' "$scratch/rows"

# ---- the page: tables and plots, and for each shape's barrier the contents of its report
facts() {
    run_facts $((SECONDS - began))
    printf '%s\t%s\n' "Tuning cache" "$file" "Command" "nicbarr tune${arguments:+ $arguments}"
}
show() { # HOSTS PROCESSES-ON-EACH
    local name=shape-$1x$2 title
    title="$(($1 * $2)) processes on $([ "$1" = 1 ] && echo "one node" || echo "$1 nodes")"
    page_section "$title"
    awk -F '\t' -v OFS=, -v shape="$title" '
        BEGIN { print "what", "chosen", "times", "chosen_us", "openmpi_us", "factor" }
        $1 == shape { print $2, $3, $4 " of " $5, $6, $7, sprintf("%.3f", $7 / $6) }' "$scratch/rows" > "$output/$name.csv"
    if [ "$(wc -l < "$output/$name.csv")" -lt 2 ]; then
        rm "$output/$name.csv"
        page_failure "Nothing was measured."
        return
    fi
    page_plot "$name" "$here/tuned.gp" "How many times faster than Open MPI the chosen algorithm is" "$name.csv"
    page_table "$name.csv" what=collective chosen=chosen times="chosen in" openmpi="Open MPI" factor="times faster"
    page_raw "$name.csv"
    [ -s "$output/$name.json" ] || return
    nicbarr report "$output/$name.json" --plot "$output/$name-barrier.svg" --plot "$output/$name-barrier.pdf" \
        > "$scratch/report" 2>&1
    [ ! -s "$output/$name-barrier.svg" ] ||
        page_picture "$name-barrier" "All candidates for MPI_Barrier, in the last of these jobs"
    page_link "$name.json" "The report of that job"
    page_details "What nicbarr report says of it" < "$scratch/report"
}
if command -v gnuplot > /dev/null; then
    # shellcheck source=bench/report/page.sh
    . "$here/page.sh"
    page_begin "$output/index.html" "What nicbarr tune has measured" \
        "nicbarr's implementations against Open MPI's own functions, measured alternately in the same jobs"
    page_section "Machine and versions"
    facts | page_facts
    [ -z "$stopped" ] || page_failure "Interrupted: this is of $finished of $all jobs."
    [ "$failed" = 0 ] || page_failure "$failed of $finished jobs failed, and are left out; the log says why."
    page_text "The choice is the one that most of the jobs have made. A time is the geometric mean over these jobs of the \
median in each. Later jobs take all entries of the tuning cache into account."
    page_link "$log_name" "What the jobs printed"
    for shape in "${shapes[@]}"; do
        read -r count each <<< "$shape"
        show "$count" "$each"
    done
    page_end || fail "cannot write $output/index.html"
    echo "The page: $output/index.html" >&2
else
    echo "no page with plots: there is no gnuplot (on Debian: apt-get install gnuplot-nox)" >&2
fi
[ -z "$stopped" ] || exit 130
[ "$failed" = 0 ]
