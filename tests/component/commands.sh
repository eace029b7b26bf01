#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The commands of README.md, docs/figures.md, docs/using.md and docs/cluster-on-a-laptop.md run as they are
# written: each line of a block of commands, in the order of the page, in one folder with a program a.out.
. "$(dirname "$0")/common.sh"

# As a person has it who has sourced env.sh: nothing is set for the processors of this machine.
unset OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy OMPI_MCA_coll_nicbarr_cache
mkdir "$scratch/bin"
export PATH=$scratch/bin:$builddir/tools:$srcdir/nethosts:$PATH
# Nobody looks at the figures: few chunks do, after enough barriers to be measured.
printf '#!/bin/sh\nexec %s "$@" -c 3 -i 2 -x 40\n' "$builddir/bench/nicbarr_bench" > "$scratch/bin/nicbarr_bench"
chmod +x "$scratch/bin/nicbarr_bench"
export NICBARR_LIBEXECDIR=$srcdir
mkdir "$scratch/here"
cd "$scratch/here" || exit 1
# (So many that each communicator has its share, whatever chance says.)
printf '#!/bin/sh\nexec %s --iterations 2000\n' "$programs/barrier_ledger" > a.out
printf '#!/bin/sh\n$NETHOSTS_MPIRUN ./a.out\n' > measure.sh # what a page calls "a command of yours"
chmod +x a.out measure.sh

# What is left out, and why.
reason() { # COMMAND
    case $1 in
        ./demo.sh* | ./test.sh* | ". ./env.sh") echo "it is the way to here" ;;
        ./packages.sh* | sudo*) echo "tests/packages.sh runs it, in a chroot" ;;
        "cc example.c"* | ./example) echo "tests/library_test.sh runs it" ;;
        "nicbarr evaluate"*) echo "tools/tests/evaluate_test.sh runs it" ;;
        "nicbarr doctor"*) echo "tests/component/doctor.sh runs it" ;;
        nicsim*) echo "bench/nicsim/tests run it, on the data of the source tree" ;;
        nethosts*) # which needs rights
            [[ $1 != *--ipv6* ]] || mpirun --version | grep -q '(Open MPI) 4\.' || echo "it is for Open MPI 4.1"
            { unshare --net true && nethosts --shell 2 true && [[ $1 != *--kernel* ]]; } > /dev/null 2>&1 ||
                echo "such hosts cannot be made here" ;;
    esac
}
commands() { # FILE: one a line, without remarks; those that go on are put together
    sed -nE 's/^    //p' "$1" | sed -e ':more' -e '/\\$/{N;s/\\\n */ /;b more}' | sed -E 's/ +# .*//'
}
run() { timeout -k 5 "${watchdog:-300}" bash -c "$1" > "$scratch/out" 2>&1 < /dev/null; }
works() { # COMMAND
    run "$1" || return
    [ "$1" != "${1/--plot/}" ] || return 0
    [ -s "$(sed -E 's/.*--plot ([^ ]+).*/\1/' <<< "$1")" ] # and the picture is there
}
number=0
for page in README.md docs/figures.md docs/using.md docs/cluster-on-a-laptop.md; do
    while IFS= read -r command; do
        number=$((number + 1))
        why=$(reason "$command")
        if [ -n "$why" ]; then
            echo "skip $page: $command ($why)"
        else
            check "$page: $command" works "$command"
        fi
    done < <(commands "$srcdir/$page")
done
check "there are commands" [ $number -gt 10 ]
check "the cache is the test's own" [ -s "$XDG_CACHE_HOME/nicbarr/tuning.json" ]
finish
