# SPDX-License-Identifier: BSD-3-Clause
# What `nicbarr tune --write-tuned-rules` does; to be sourced by tune.sh, whose options and functions it uses. Each job
# (nicbarr_tuned) measures all algorithms of Open MPI's coll/tuned in turns; tuned_rules.awk makes a rules file of their
# lines, and a table.
#
# tuned looks up a rule by the arguments of the sender, also where MPI ignores them. In MPI_Gather and MPI_Scatter that
# is some of the ranks, with MPI_IN_PLACE at the root or with a null datatype elsewhere: they take the rule of 0 bytes,
# the others another one, and legal programs hang or get wrong results (seen with 4.1.4). So these have no rules. In
# MPI_Allgather with MPI_IN_PLACE all ranks take the rule of 0 bytes, tuned's own; but who gives a null pointer for the
# datatype crashes. So it has rules only if it is asked for.
# shellcheck shell=bash
tuned_collectives=(barrier allreduce bcast reduce)
tuned_asked_for=(allgather)
tuned_program=$top/bench/tuned/nicbarr_tuned

# What the file begins with, where it may have comments.
tuned_from() {
    echo "# Rules of Open MPI's coll/tuned, as nicbarr tune has measured it with Open MPI $(mpirun --version |
        sed -n '1s/.*(Open MPI) *//p'), $date"
    echo "# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename $file"
    echo "# 0 leaves the decision to tuned."
}

tuned_jobs() { # lines into $scratch/lines; finished, failed
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
    ! is_open_mpi 6 || form=json # of a text 6.0.0rc2 takes the rules for 4 processes where there are 2 or 3
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
