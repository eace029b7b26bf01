#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests `nicbarr tune --write-tuned-rules` with a fake of mpirun that prints prepared measurements: which jobs the
# command starts, which algorithms get a rule, and the contents of the rules file. tests/component/tuned_rules.sh tests
# the measurements of real jobs, and that Open MPI reads the file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
NICBARR_LIBEXECDIR=$(cd "$here/../.." && pwd)
export NICBARR_LIBEXECDIR
# shellcheck source=tests/tap.sh
. "$here/../../tests/tap.sh"
nicbarr=$build/tools/nicbarr

# The n-th job prints the file lines.n, or fails if there is no such file.
mkdir bin
cat > bin/mpirun << 'END'
#!/bin/bash
here=$(dirname "$0")/..
if [ "$1" = --version ]; then
    echo "mpirun (Open MPI) $(cat "$here/version")"
    exit
fi
echo "$*" >> "$here/jobs"
cat "$here/lines.$(wc -l < "$here/jobs")" 2> /dev/null || { echo "no such job" >&2; exit 3; }
END
printf '#!/bin/sh\necho 4\n' > bin/nproc
chmod +x bin/*
PATH=$PWD/bin:$PATH
echo 4.1.99 > version

run() { # ARGUMENT...: status, out, err, jobs
    : > "jobs"
    "$nicbarr" tune "$@" > out 2> err < /dev/null
    status=$?
}
class() { # COLLECTIVE PROCESSES ROOT BYTES NOISE: begins a class; the following lines belong to it
    of=("$1" "${nodes-1}" "$2" "$3" "$4")
    echo "tuned: ${of[*]} 0 ignore 0 4 10.000 0.9000 1.0000 $5"
}
plays() { # NUMBER NAME SEGMENT Q1 MEDIAN Q3
    echo "tuned: ${of[*]} $1 $2 $3 4 5.000 $4 $5 $6"
}
rules() { sed 's/ *#.*//; /^$/d' rules | tr '\n' ';'; }

# Two numbers of processes, each measured by two jobs.
{
    class barrier 2 - 0 1.1
    plays 1 linear 0 1.2 1.3 1.4
    class allreduce 2 - 4 1.1
    plays 1 basic_linear 0 1.05 1.5 1.9   # the lower quartile does not exceed the noise
    class allreduce 2 - 16 1.1
    plays 1 basic_linear 0 1.2 1.5 1.9
    plays 3 recursive_doubling 0 1.3 1.6 1.9
    class allreduce 2 - 64 1.1
    plays 3 recursive_doubling 0 0.5 0.6 0.7
} > lines.1
{
    echo "tuned-left-out: allreduce 8 4 ring 0 it is wrong"
    class barrier 8 - 0 1.1
    plays 1 linear 0 0.7 0.8 0.9
    class allreduce 8 - 16 1.1
    plays 1 basic_linear 0 2.1 2.2 2.3
    plays 5 segmented_ring 8192 2.2 2.3 2.4
    class allreduce 8 - 64 1.1
    plays 1 basic_linear 0 1.0 1.2 1.3
    plays 5 segmented_ring 8192 2.2 2.3 2.4
    class allreduce 8 - 256 1.1
    plays 1 basic_linear 0 1.5 1.6 1.7
    class bcast 8 each 16 1.1
    plays 6 binomial 0 1.5 1.6 1.7
    class bcast 8 0 16 1.1
    plays 6 binomial 0 1.0 1.1 1.2        # not faster with a fixed root
} > lines.2
sed 's/ 5 segmented_ring/ 5 removed/' lines.2 > lines.4 # absent from the second job
cp lines.1 lines.3
run --write-tuned-rules rules --per-host 2,8 --times 2 -- --tag x
[ $status -eq 0 ] && [ "$(cut -d ' ' -f 2 jobs | tr -d '\n')" = 2828 ] &&
    [ "$(grep -c -- "^-np [28] --tag x .*/bench/tuned/nicbarr_tuned --sizes 4:1048576 --budget 300 \
barrier allreduce bcast reduce$" jobs)" = 4 ]
verdict $? "a job for each shape, each time"
[ "$(rules)" = "2;2;4;2 3;0 0 0 0;16 3 4 0;32 0 0 0;3 1;0 0 0 0;8 5;\
0 0 0 0;16 1 4 0;64 0 0 0;256 1 4 0;512 0 0 0;9 1;0 0 0 0;6;2;2 1;0 1 4 0;3 1;0 0 0 0;" ] ||
    { rules > err && false; }
verdict $? "rules where all of the measurements are better than chance; all else is tuned's own"
sed -i '/^tuned: allreduce .* 256 /d' lines.2 lines.4
run --write-tuned-rules rules --per-host 2,8 --times 2
grep -q '^# Rules of .* Open MPI 4\.1\.99, ' rules && grep -q "^# mpirun .*_filename $PWD/rules\$" rules
verdict $? "the file says where it is from, and how to use it"
grep -q "^ *16 .* 10\.00 .* basic_linear .* 2\.20 .* 2\.10 .* 1\.10 .* yes\$" out &&
    grep -q '^ *- .* linear .* 0\.80 .* no$' out && grep -q '^3 of 8 classes have a rule' out &&
    grep -q '^Left out, as it is wrong: allreduce ring\.$' out &&
    grep -q "^mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename $PWD/rules\$" out
verdict $? "the table has the gains, and what follows says what was left out, and how to use the file"
[ "$(grep -v '^mpirun' out | wc -L)" -le 80 ]
verdict $? "it is narrow"

# The first measured number of processes is greater than 2. Without further entries, coll/tuned would also apply
# its rules to smaller communicators. The last number of a rule is the segment size.
{
    class bcast 4 each 65536 1.1
    plays 3 pipeline 8192 3.0 3.1 3.2
    class bcast 4 0 65536 1.1
    plays 3 pipeline 8192 2.0 2.1 2.2
} > lines.1
cp lines.1 lines.2
run --write-tuned-rules rules --per-host 4 --times 1 --only bcast --sizes 64:65536 --budget 7
[ "$(rules)" = "1;7;3;2 1;0 0 0 0;4 3;0 0 0 0;65536 3 4 8192;131072 0 0 0;5 1;0 0 0 0;" ] &&
    grep -q -- '--sizes 64:65536 --budget 7 bcast$' jobs
verdict $? "smaller communicators are left to tuned"

{
    class allgather 4 - 4096 1.1
    plays 4 ring 0 2.0 2.1 2.2
} > lines.1
run --write-tuned-rules rules --per-host 4 --times 1 --only allgather,barrier
[ "$(rules)" = "1;0;3;2 1;0 0 0 0;4 3;0 0 0 0;4096 4 4 0;8192 0 0 0;5 1;0 0 0 0;" ] && grep -q ' allgather barrier$' jobs
verdict $? "allgather, if it is named"
cp lines.2 lines.1

# Open MPI 6.0 reads a JSON file, whose rules can depend on whether all processes are on one node.
echo 6.0.99 > version
run --write-tuned-rules rules --per-host 4 --times 1 --only bcast
python3 - << 'END'
import json
assert json.load(open("rules")) == {"rule_file_version": 3, "module": "tuned", "collectives": {"bcast": [
    {"comm_size_min": 4, "comm_size_max": 4, "comm_rank_distribution": "single-node", "rules": [
        {"msg_size_min": 65536, "msg_size_max": 131071, "alg": "pipeline", "faninout": 4, "seg_size": 8192}]}]}}
END
verdict $? "JSON for 6.0"
{
    nodes=2
    class barrier 4 - 0 1.1
    plays 1 linear 0 1.2 1.3 1.4
} > lines.2
sed 's/^tuned: barrier 2/tuned: barrier 1/' lines.2 > lines.1
run --write-tuned-rules rules --hosts a,b --nodes 1,2 --per-host 4 --times 1 --only barrier
[ "$(cut -d ' ' -f 1-6 jobs | tr '\n' ';')" = "-np 4 --host a:4 --map-by ppr:4:node;\
-np 8 --host a:4,b:4 --map-by ppr:4:node;" ] &&
    python3 -c 'import json; [rule] = json.load(open("rules"))["collectives"]["barrier"]
assert rule["comm_rank_distribution"] == "any" and rule["rules"][0]["msg_size_max"] == "inf", rule'
verdict $? "on several hosts"
echo 4.1.99 > version

: > lines.1
cp rules before
run --write-tuned-rules rules --per-host 4 --times 1
[ $status -eq 1 ] && grep -q '^nicbarr tune: the jobs have measured nothing' err && cmp -s rules before
verdict $? "nothing measured is an error, and the file stays"
rm lines.*
run --write-tuned-rules rules --per-host 4 --times 1
[ $status -eq 1 ] && grep -q '^no such job' err && grep -q '^nicbarr tune: the first job failed' err && cmp -s rules before
verdict $? "neither are jobs that fail"

wrong() { # STATUS WHAT ARGUMENT...
    run "${@:3}"
    [ $status -eq "$1" ] && [ "$(grep -c '' err)" = 1 ] && grep -q "^nicbarr tune: .*$2" err && [ ! -s out ] && [ ! -s jobs ]
    verdict $? "wrong: ${*:3}"
}
wrong 64 "would make programs hang" --write-tuned-rules x --only barrier,gather
wrong 64 "only one FILE can be written" --write-tuned-rules x --write y
wrong 64 "must be a number from 16" --write-tuned-rules x --sizes 16:8
wrong 64 "must be a multiple of 4" --write-tuned-rules x --sizes 6:8
wrong 64 "is for --write-tuned-rules" --write x --sizes 4:8
wrong 1 "does not exist" --write-tuned-rules nowhere/x
finish
