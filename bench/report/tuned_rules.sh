# SPDX-License-Identifier: BSD-3-Clause
# Implements `nicbarr tune --write-tuned-rules`. To be sourced by tune.sh, whose options and functions it uses. Each job
# (nicbarr_tuned) measures all algorithms of Open MPI's coll/tuned alternately, and tuned_rules.awk converts the output
# of the jobs to a rules file and a table.
#
# coll/tuned looks up a rule by the arguments for the sent data, even where MPI ignores these arguments. In MPI_Gather
# and MPI_Scatter this concerns only some of the ranks, such as a root with MPI_IN_PLACE, or other ranks with a null
# datatype. They may apply the rule for 0 bytes while the others apply another rule, so legal programs hang or get
# wrong results (observed with 4.1.4). Therefore no rules are written for these two collectives. In MPI_Allgather with
# MPI_IN_PLACE all ranks apply the rule for 0 bytes, which leaves the decision to coll/tuned, but a program that
# passes a null pointer as the ignored datatype crashes. Therefore rules for MPI_Allgather are only written on
# request.
# shellcheck shell=bash
tuned_collectives=(barrier allreduce bcast reduce)
tuned_asked_for=(allgather)
tuned_program=$top/bench/tuned/nicbarr_tuned

# Prints the beginning of a rules file in the text format, which may contain comments.
tuned_from() {
    echo "# Rules of Open MPI's coll/tuned, as nicbarr tune has measured it with Open MPI $(mpirun --version |
        sed -n '1s/.*(Open MPI) *//p'), $date"
    echo "# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename $file"
    echo "# 0 leaves the decision to tuned."
}

tuned_jobs() { # appends the output of the jobs to $scratch/lines; sets finished and failed
    local time shape count each began=$SECONDS left='a while'
    for ((time = 1; time <= times; ++time)); do
        for shape in "${shapes[@]}"; do
            read -r count each <<< "$shape"
            say "[$((finished + failed + 1))/$all] $(shape_name "$count" "$each"); $left to go"
            if launch "$count" "$each" "$tuned_program" --sizes "$range" --budget "$budget" "${operations[@]}" \
                < /dev/null > "$scratch/out" 2> "$scratch/err"; then
                finished=$((finished + 1))
                cat "$scratch/out" >> "$scratch/lines"
            elif [ -z "$stopped" ]; then
                failed=$((failed + 1))
                job_failed "$(shape_name "$count" "$each")" "$scratch/err"
            fi
            [ -z "$stopped" ] || return
            left=$(clock $(((SECONDS - began) * (all - finished - failed) / (finished + failed))))
        done
    done
}

write_tuned_rules() {
    local form=text all
    times=${times:-3} budget=${budget:-300} range=${range:-4:1048576}
    all=$((${#shapes[@]} * times)) finished=0 failed=0
    ! is_open_mpi 6 || form=json # with a text file, 6.0.0rc2 applies rules for 4 processes to communicators of 2 or 3
    run_begins
    echo "$(counted ${#shapes[@]} shape s), $(counted ${#operations[@]} collective s)," \
        "$(counted "$times" time s) each: $(counted $all job s); into $file" >&2
    tuned_jobs
    say "$finished jobs"
    [ ! -t 2 ] || echo >&2
    [ $finished -gt 0 ] || fail "interrupted before anything was measured" 130
    [ -z "$stopped" ] || echo "interrupted: the following results are of $finished of $all jobs" >&2
    awk -v form=$form -v rules="$scratch/rules" -v from="$(tuned_from)" -f "$here/tuned_rules.awk" "$scratch/lines" ||
        fail "the jobs have measured nothing"
    cat "$scratch/rules" > "$file" || fail "cannot write '$file'"
    sed -n 's/^tuned-left-out: //p' "$scratch/lines" | awk '
        { it = $1 " " $4; sub(/^([^ ]+ )+([0-9]+ )/, ""); if (!((it, $0) in known)) { known[it, $0]; list[$0] = list[$0] ", " it } }
        END { for (why in list) print "Left out, as " why ": " substr(list[why], 3) "." }' | fold -s -w 80
    cat << END
gain: tuned's own decision over the best other algorithm. least: the lower
quartile of that, in the worst measurement. noise: the upper quartile of tuned's
own decision over itself. A rule is where least is above noise and above 1.
To use them:
mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename $file
END
    [ -z "$stopped" ] || exit 130
    [ $failed = 0 ]
}
