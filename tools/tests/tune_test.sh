#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr tune` starts wrong jobs or misreads their output. mpirun is replaced by a fake that measures
# nothing; tests/component/tuning.sh runs real jobs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v gnuplot > /dev/null || { echo "there is no gnuplot"; exit 77; }
NICBARR_LIBEXECDIR=$(cd "$here/../.." && pwd)
export NICBARR_LIBEXECDIR
# shellcheck source=bench/report/page_checks.sh
. "$here/../../bench/report/page_checks.sh"
nicbarr=$build/tools/nicbarr

# A job for barriers first reports counter:1 as a provisional choice, and then chooses pairwise or, in every
# third job, flags:4 with a shorter time. Jobs for broadcasts fail if the file `broken` exists.
mkdir bin
ln -s "$nicbarr" bin/nicbarr
export sample=$here/every_source.json
cat > bin/mpirun << 'END'
#!/bin/bash
if [ "$1" = --version ]; then
    echo 'mpirun (Open MPI) 4.1.99'
    exit
fi
here=$(dirname "$0")/..
echo "$*" >> "$here/jobs"
where='one node'
case "$*" in *"--host"*) where='2 nodes' ;; esac
case "$*" in
    *" barrier "*)
        choice=pairwise us=2.000
        cp "$sample" "$(sed 's/.*coll_nicbarr_report \([^ ]*\).*/\1/' <<< "$*")"
        [ ! -e "$here/slow" ] || { kill "$PPID"; rm "$here/slow"; }
        [ $(($(grep -c ' barrier ' "$here/jobs") % 3)) != 0 ] || choice=flags:4 us=0.500
        echo "[h:1] nicbarr: MPI_Barrier on MPI_COMM_WORLD, $2 processes on $where: counter:1 (measured, 9.000 us; Open MPI: 9.500 us; provisional, confidence 0.29)"
        echo "[h:1] nicbarr: MPI_Barrier on MPI_COMM_WORLD, $2 processes on $where: $choice (measured, $us us; Open MPI: 8.000 us)"
        echo "[h:1] nicbarr: MPI_Barrier on another, $2 processes on $where: $choice (same shape)" ;;
    *)
        [ ! -e "$here/broken" ] || exit 1
        for bytes in 32 8; do
            echo "[h:1] nicbarr: MPI_Bcast up to $bytes bytes on x, $2 processes on $where: ring (measured, 1.500 us; Open MPI: 3.000 us)"
        done ;;
esac
END
printf '#!/bin/sh\necho "mca:coll:nicbarr:version"\n' > bin/ompi_info
printf '#!/bin/sh\n' > bin/nicbarr_bench
printf '#!/bin/sh\necho 6\n' > bin/nproc
chmod +x bin/*
PATH=$PWD/bin:$PATH

run() { # ARGUMENT...: status, out, err, jobs
    : > "jobs"
    "$nicbarr" tune "$@" > out 2> err < /dev/null
    status=$?
}

run --write cache.json --per-host 2,3 --times 3 --only barrier,bcast
[ $status -eq 0 ] && [ "$(grep -c '' jobs)" = 18 ] && grep -q '^2 shapes, 2 collectives (3 with fixed roots), 3 times each: 18 jobs' err
verdict $? "a job for each shape and collective, each time, and for a root that stays"
[ "$(grep -c "coll_nicbarr_cache remeasure,$PWD/cache.json .* nicbarr_bench" jobs)" = 18 ]
verdict $? "all of them write the file, and do not read it"
[ "$(cut -d ' ' -f 2 jobs | uniq | tr -d '\n')" = 232323 ]
verdict $? "shapes take turns"
[ "$(grep -c ' nicbarr_bench bcast .*-m 8:4194304 ' jobs)" = 12 ]
verdict $? "on one node, all sizes up to 4 MiB are measured"
grep -q '^\[18/18\] bcast --root 0, 3 processes on one node; [0-9]*:[0-9][0-9] to go$' err
verdict $? "it says how long it takes"
[ "$(sed -E 's/ +/ /g' out)" = "2 processes on one node
 collective chosen jobs us Open MPI us factor
 MPI_Barrier pairwise 2 of 3 2.000 8.000 4.00
 MPI_Bcast up to 8 bytes ring 6 of 6 1.500 3.000 2.00
 MPI_Bcast up to 32 bytes ring 6 of 6 1.500 3.000 2.00

3 processes on one node
 collective chosen jobs us Open MPI us factor
 MPI_Barrier pairwise 2 of 3 2.000 8.000 4.00
 MPI_Bcast up to 8 bytes ring 6 of 6 1.500 3.000 2.00
 MPI_Bcast up to 32 bytes ring 6 of 6 1.500 3.000 2.00" ] && [ "$(wc -L < out)" -le 80 ] &&
    [ "$(awk 'NF { print length }' out | sort -u | wc -l)" = 2 ]
verdict $? "the table says what was chosen, how often, and the times of these jobs"
is_page nicbarr-tuning 4
are_readable nicbarr-tuning
says nicbarr-tuning 'Tuning cache</th><td>.*/cache.json<' 'Open MPI</th><td>4\.1\.99<' '>3 processes on one node</h2>' \
    '<td>MPI_Bcast up to 32 bytes</td><td>ring</td><td>6 of 6</td><td>1\.50</td><td>3\.00</td><td>2\.00</td>' \
    'href="shape-1x2.json"' 'a dup of it'

touch slow
run --write cache.json --per-host 2,3 --times 3 --only barrier,bcast
[ $status -eq 130 ] && grep -q '^nicbarr tune: interrupted before anything was measured' err
verdict $? "interrupted at once"
sed -i 's/\[ ! -e "$here\/broken" \] || exit 1/&; kill "$PPID"/' bin/mpirun
run --write cache.json --per-host 2,3 --times 3 --only barrier,bcast
[ $status -eq 130 ] && grep -q '^interrupted: the following results are of 1 of 18 jobs' err && grep -q 'pairwise .* 1 of 1' out
verdict $? "interrupted later"
is_page nicbarr-tuning 1
says nicbarr-tuning 'Interrupted: this is of 1 of 18 jobs' 'class="failure">Nothing was measured'
sed -i 's/; kill "$PPID"$//' bin/mpirun

run --write cache.json --times 1 --only barrier
[ $status -eq 0 ] && [ "$(cut -d ' ' -f 2 jobs | tr '\n' ' ')" = "2 4 6 " ]
verdict $? "processes are what the machine has processors for"
run --write cache.json --times 1 --only barrier,allgather --hosts a,b,c --nodes 2,3 --per-host 1,4 -- --tag x
[ $status -eq 0 ] && [ "$(grep -c '^-np 2 --host a:1,b:1 --map-by ppr:1:node --tag x ' jobs)" = 2 ] &&
    [ "$(grep -c '^-np 12 --host a:4,b:4,c:4 --map-by ppr:4:node --tag x ' jobs)" = 2 ] &&
    [ "$(grep -c '' jobs)" = 8 ] && grep -q '^-np 8 .* allgather -m 1:512 ' jobs && grep -q '^8 processes on 2 nodes$' out
verdict $? "hosts, and options of mpirun"

touch broken
run --write cache.json --times 1 --only barrier,bcast --per-host 2
[ $status -eq 1 ] && grep -q 'the job failed, and is left out' err && grep -q 'MPI_Barrier' out
verdict $? "a job that fails is left out, and said"
run --write cache.json --times 1 --only bcast --per-host 2
[ $status -eq 1 ] && grep -q '^nicbarr tune: the first job failed, .*: nicbarr doctor shows' err && [ ! -s out ] &&
    [ "$(grep -c '' jobs)" = 1 ]
verdict $? "if the first job fails, no other is started"
run --write cache.json --times 1 --only bcast --hosts a,b --per-host 2
grep -q ': nicbarr doctor --hosts a,b shows' err
verdict $? "... and the message names the hosts to check"

wrong() { # STATUS WHAT ARGUMENT...
    run "${@:3}"
    [ $status -eq "$1" ] && [ "$(grep -c '' err)" = 1 ] && grep -q "^nicbarr tune: .*$2" err && [ ! -s out ] && [ ! -s jobs ]
    verdict $? "wrong: ${*:3}"
}
wrong 64 "--write FILE is missing" --per-host 2
wrong 64 "needs a value" --write
wrong 64 "must be a number from 1 to 1000" --write x --per-host 2,0
wrong 64 "needs a list, such as 2,4" --write x --per-host ""
wrong 64 "needs a list, such as barrier,bcast" --write x --only ""
wrong 64 "--hosts has 'a' twice" --write x --hosts a,b,a
wrong 64 "no collective 'alltoall'" --write x --only barrier,alltoall
wrong 64 "--nodes needs --hosts" --write x --nodes 2
wrong 64 "has fewer than 3 hosts" --write x --hosts a,b --nodes 3
wrong 64 "must not contain a comma" --write x,y
wrong 64 "unknown argument '--what'" --write x --what
mkdir foreign
touch foreign/file
wrong 1 "has files that are not a tuning's" --write x --output foreign
wrong 1 "the directory of .* does not exist" --write nowhere/x
wrong 1 "is a directory" --write foreign
wrong 1 "cannot be written" --write /proc/x
wrong 1 "at least two processes" --write x --per-host 1
run --help
[ $status -eq 0 ] && grep -q '^Usage: nicbarr tune' out && grep -q 'allreduce' out && [ "$(wc -L < out)" -le 90 ]
verdict $? "--help"
finish
