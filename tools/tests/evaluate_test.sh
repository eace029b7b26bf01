#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr evaluate` writes a wrong page or handles failures badly. A fake (sample_experiments.sh)
# replaces the experiments, so nothing is measured and the output is always the same. If the machine supports
# nethosts, an evaluation on several hosts is tested as well.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for program in gnuplot mpirun; do
    command -v $program > /dev/null || { echo "there is no $program"; exit 77; }
done
# shellcheck source=bench/report/page_checks.sh
. "$here/../../bench/report/page_checks.sh"
nicbarr=$build/tools/nicbarr

# The command runs from an installation, so that the test fails if it needs other files of the source tree.
make -s -C "$build" DESTDIR="$scratch/installed" install-nobase_dist_pkglibexecSCRIPTS install-nobase_dist_libexecdataDATA \
    install-nobase_pkglibexecPROGRAMS > "$scratch/make" 2>&1 || { cat "$scratch/make"; exit 99; }
NICBARR_LIBEXECDIR=$(find "$scratch/installed" -name evaluate.sh)
export NICBARR_LIBEXECDIR=${NICBARR_LIBEXECDIR%/bench/report/evaluate.sh}
unset builddir srcdir

# This mpirun always starts a single process, and records its arguments in the file `jobs`.
mkdir bin
cp "$here/sample_experiments.sh" bin/nicbarr_experiments
cat > bin/mpirun << 'END'
#!/bin/bash
if [ "$1" = --version ]; then
    echo 'mpirun (Open MPI) 4.1.99'
    exit
fi
echo "$*" >> "$(dirname "$0")/../jobs"
while [ "$1" != nicbarr_experiments ]; do shift; done
exec "$@"
END
printf '#!/bin/sh\necho "mca:coll:nicbarr:version"\n' > bin/ompi_info
chmod +x bin/*
path=$PATH
PATH=$PWD/bin:$PATH

run() { # ARGUMENT...: status, out, err
    "$nicbarr" evaluate "$@" > out 2> err < /dev/null
    status=$?
}

# ---- this node
run --nodes 1 --seed 7
[ $status -eq 0 ] && [ ! -s err ] && grep -q '^The page: .*/nicbarr-evaluation/index.html$' out
verdict $? "an evaluation of this node"
is_page nicbarr-evaluation 36
are_readable nicbarr-evaluation
says nicbarr-evaluation 'Open MPI</th><td>4\.1\.99<' "nicbarr</th><td>[0-9]" 'Seed</th><td>7<' 'Kernel</th><td>Linux' \
    'Load</th><td>[0-9]' \
    'In short' 'oversubscribed/latency.csv' '<td>This node: [0-9]* processes</td>' \
    'Command</th><td>nicbarr evaluate --nodes 1 --seed 7<' \
    'section 4\.3 of Buntinas' '<title>Barrier latency over' \
    '<caption>experiment: latency; seed: 7; ' '<td>mixed</td>' '<td>[0-9.]* <span>[0-9.]* to [0-9.]*</span></td>' \
    '<pre># experiment: rtt$'
[ "$(grep -c '' jobs)" -eq 18 ] && [ "$(grep -c -- '--seed 7 --csv' jobs)" -eq 18 ]
verdict $? "18 jobs, all with the seed"
check "the log has what they were" grep -q 'mpirun -np .* nicbarr_experiments rtt --budget' nicbarr-evaluation/evaluation.log
[ "$(grep -Ec '^ *[0-9]+ of 18  .*  [0-9]+:[0-9]{2} to go, [0-9]+ s$' out)" = 18 ] && grep -q ' 18 of 18  oversubscribed *fuzzy ' out
verdict $? "progress was shown"

run --nodes 1 --only rtt,latency --budget 1
[ $status -eq 0 ]
verdict $? "its own directory is taken again"
is_page nicbarr-evaluation 8
budget=$(sed -n 's/.*fuzzy --budget \([0-9]*\) .*/\1/p' jobs | tail -n 1)
less=$(sed -n 's/.*latency --budget \([0-9]*\) .*/\1/p' jobs | tail -n 1)
[ "$((18 * budget))" -le 480 ] && [ "$((4 * less))" -le 60 ] && [ "$less" -ge 1 ]
verdict $? "the budget is shared ($budget s of 8 minutes, $less s of one)"

SAMPLE_PROCESSES=2 run --nodes 1 --output two
[ $status -eq 0 ]
verdict $? "two processes"
is_page two 20 # plots with a single point are omitted

# ---- failures are reported, and the other experiments go on
SAMPLE_FAILS=overhead SAMPLE_LATE=arrival SAMPLE_EMPTY=rtt run --nodes 1 --output failing
[ $status -eq 1 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q '^nicbarr evaluate: 8 .* failed' err
verdict $? "experiments fail"
[ "$(grep -c 'FAILED' out)" -eq 8 ]
verdict $? "which is shown at once"
[ "$(grep -c 'class="failure">MPI.s overhead failed: status 3: the network is &lt;down&gt; &amp; out' failing/index.html)" -eq 2 ] &&
    [ "$(grep -c 'class="failure">.* it wrote no data to rtt.csv' failing/index.html)" -eq 2 ]
verdict $? "and is on the page"
is_page failing 24 # the experiment that failed late has written data, so its plots are shown

mkdir broken
printf '#!/bin/sh\necho >&2; echo "line 3: as expected" >&2; exit 2\n' > broken/gnuplot
chmod +x broken/gnuplot
PATH=$PWD/broken:$PATH run --nodes 1 --only latency --output unplotted
[ $status -eq 1 ] && [ "$(grep -c 'No plot of latency.*: gnuplot says: line 3: as expected' unplotted/index.html)" -eq 4 ]
verdict $? "gnuplot fails"
is_page unplotted 0

# ---- directories
directories "an evaluation's" --nodes 1 --only rtt
run --nodes 1 --only rtt --output 'an <odd> & "quoted" name'
[ $status -eq 0 ]
verdict $? "a directory with an odd name"
is_page 'an <odd> & "quoted" name' 4

# ---- usage
usage "unknown argument '--wibble'" --wibble
usage "unknown argument 'file'" file
usage "there is no experiment 'speed'" --only latency,speed
usage "there is no experiment ''" --only latency,,rtt
usage "needs experiments" --only ''
usage "there is no NIC 'fast'" --nic fast
usage "needs a value" --nodes
for bad in '' x 0 -1 251 1.5 07 99999999999999999999 '1 2'; do
    usage "--nodes must be a number from 1 to 250" --nodes "$bad"
done
usage "--budget must be a number" --budget 0
usage "--seed must be a number" --seed x
usage "--per-host is for several hosts" --nodes 1 --per-host 2
run --help
[ $status -eq 0 ] && grep -q -- '--budget MINUTES' out && [ ! -s err ]
verdict $? "--help"

# ---- missing programs
mkdir bare
for program in bash awk sed cut dirname nproc; do
    ln -s "$(command -v $program)" bare/
done
for missing in mpirun gnuplot nicbarr_experiments; do
    PATH=$PWD/bare run --nodes 1 --output never
    refuses "no $missing" "there is no $missing in the PATH"
    ln -s "$(command -v $missing)" bare/
done
printf '#!/bin/sh\n' > bare/ompi_info
chmod +x bare/ompi_info
PATH=$PWD/bare run --nodes 1 --output never
refuses "no component" "does not find the component"
NICBARR_LIBEXECDIR=$PWD/nowhere run
refuses "no script" 'cannot run .*/nowhere/bench/report/evaluate.sh: No such file'
[ ! -e never ]
verdict $? "none of them wrote anything"

# ---- no hosts
mkdir -p tree/testbeds/hosts
ln -s "$NICBARR_LIBEXECDIR/bench" "$NICBARR_LIBEXECDIR/ompi" tree/
printf '#!/bin/sh\necho "nethosts: no right" >&2\nexit 77\n' > tree/testbeds/hosts/nethosts
chmod +x tree/testbeds/hosts/nethosts
NICBARR_LIBEXECDIR=$PWD/tree run --only rtt --output hostless
[ $status -eq 0 ] && grep -q 'Several hosts were left out: nethosts: no right' hostless/index.html
verdict $? "without the right to make hosts"
is_page hostless 4
NICBARR_LIBEXECDIR=$PWD/tree run --nodes 2 --output never
refuses "which is an error if they are asked for" 'cannot create hosts: nethosts: no right'

# ---- interrupted
SAMPLE_HANGS=granularity "$nicbarr" evaluate --nodes 1 --output interrupted > out 2> err < /dev/null &
for _ in $(seq 600); do
    [ -s pid ] && break
    sleep 0.1
done
kill -TERM $!
wait $!
[ $? -eq 130 ] && grep -q 'interrupted; the page shows what was measured' err && ! kill -0 "$(cat pid)" 2> /dev/null
verdict $? "interrupted"
is_page interrupted 8 # two experiments in both places
says interrupted 'The evaluation was interrupted' 'Granularity of computation failed: interrupted' \
    'Varying arrival times failed: not run' 'Papers</h2>'

# ---- the time is up: each call of `date` advances the clock by 15 s, so the second experiment is the last one
cat > bin/date << END
#!/bin/bash
[ "\$1" = +%s ] || exec $(command -v date) "\$@"
echo x >> "$PWD/looks"
echo \$((1700000000 + 15 * \$(grep -c '' "$PWD/looks")))
END
chmod +x bin/date
run --nodes 1 --only latency,rtt,fuzzy --budget 1 --output short
rm bin/date
[ $status -eq 0 ] && grep -q '^[1-5] experiments were left out for lack of time (--budget)$' out
verdict $? "where the time is up the rest is left out"
says short 'Fuzzy barriers failed: not run, as the time was up: give it more by --budget'

# ---- meaningless figures
printf '#!/bin/sh\ncase "$*" in */proc/loadavg) echo "12000.0 9 8" ;; *) exec %s "$@" ;; esac\n' "$(command -v cut)" > bin/cut
chmod +x bin/cut
SAMPLE_SPREAD=4 run --nodes 1 --only latency --output worthless
rm bin/cut
[ $status -eq 0 ] && grep -q '^The machine is busy: load 12000.0 on [0-9]* CPUs. The measurements are unreliable.$' out
verdict $? "a busy machine is told"
is_page worthless 4
says worthless 'class="worthless">The machine is busy: load 12000.0' 'class="worthless">Factors that are struck out are unreliable' \
    '<td class="unsure">'
! grep -q 'class="unsure"' two/index.html
verdict $? "figures that mean something are not struck out"

# ---- several hosts
if "$NICBARR_LIBEXECDIR/testbeds/hosts/nethosts" --shell 2 true > out 2>&1; then
    PATH=$PWD/bin:$path run --nodes 2 --per-host 3 --nic soft --only latency --output hosts
    [ $status -eq 0 ] && grep -q 'hosts  *latency' out && grep -q -- '-np 6 .*--mca coll_nicbarr_nic soft nicbarr_experiments latency' jobs
    verdict $? "an evaluation of 2 hosts"
    is_page hosts 2
    check "it says what hosts" grep -q '2 hosts, 3 processes on each' hosts/index.html
else
    count=$((count + 1))
    echo "ok $count - hosts # SKIP $(tail -n 1 out)"
fi

[ ! -d hosts ] || set -- hosts
are_readable two failing unplotted 'an <odd> & "quoted" name' interrupted worthless "$@"
finish
