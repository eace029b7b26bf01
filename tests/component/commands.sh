#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a command in the documents does not work as written. Each line of a block of commands, indented or
# fenced, runs in the order of its page, in one directory with a program a.out, which also contains the system's directories
# that the commands name.
#
# The following commands are skipped, each with a line that gives the reason: commands that build,
# install or test, that are run by another test, that take more than some seconds, that name hosts
# or processes of the reader, or that change the system, and lines of a file. quickstart-cluster.md,
# kernel-nic.md and rdma-nic.md contain nothing else (real hosts, srun, a card), so they are not
# read.
. "$(dirname "$0")/common.sh"

# The environment of a user who has sourced env.sh, without settings for this machine's processors.
unset OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_mapby OMPI_MCA_coll_nicbarr_cache
mkdir "$scratch/bin"
export PATH=$scratch/bin:$builddir/tools:$srcdir/testbeds/hosts:$PATH
# The measured times do not matter, so measurements are short; there are just enough barriers for tuning.
printf '#!/bin/sh\nexec %s "$@" -c 3 -i 2 -x 40\n' "$builddir/bench/nicbarr_bench" > "$scratch/bin/nicbarr_bench"
# nicbarr tune measures only one collective, once. nicsim uses the data of the source tree.
cat > "$scratch/bin/nicbarr" << END
#!/bin/sh
[ "\$1" != tune ] || set -- "\$@" --times 1 --only barrier --budget 20
exec $builddir/tools/nicbarr "\$@"
END
printf '#!/bin/sh\nexec %s --data %s "$@"\n' "$builddir/bench/nicsim/nicsim" "$srcdir/bench/nicsim" > "$scratch/bin/nicsim"
chmod +x "$scratch"/bin/*
export NICBARR_LIBEXECDIR=$srcdir
mkdir "$scratch/here"
cd "$scratch/here" || exit 1
# With so many barriers every communicator has some, whatever the seed.
printf '#!/bin/sh\nexec %s --iterations 2000\n' "$programs/barrier_ledger" > a.out
printf '#!/bin/sh\n$NETHOSTS_MPIRUN ./a.out\n' > measure.sh # what a page calls "a command of yours"
chmod +x a.out measure.sh

# Determine which kinds of hosts nethosts can create here. (Without root, none.)
hosts=no kernels=no
! { unshare --net true && nethosts --shell 2 true; } > /dev/null 2>&1 || hosts=yes
! nethosts --kernel --shell 2 true > /dev/null 2>&1 || kernels=yes

# Prints the reason why a command is skipped, or nothing if it is to run.
reason() { # COMMAND
    case $1 in
        ./demo.sh* | ./test.sh* | .ci/run | ./setup.sh* | ". ./env.sh") echo "it is the way to here" ;;
        make* | tests/*.sh* | _build/tests/*) echo "it builds, or tests" ;;
        \$EDITOR*) echo "it is the reader's" ;;
        ./packages.sh* | sudo*) echo "tests/packages.sh runs it, in a chroot" ;;
        "cc example.c"* | ./example) echo "tests/library_test.sh runs it" ;;
        "nicbarr evaluate"*) echo "tools/tests/evaluate_test.sh runs it" ;;
        "nicbarr doctor"*) echo "tests/component/doctor.sh runs it" ;;
        "nicbarr tune --write-tuned-rules"*) echo "tests/component/tuned_rules.sh runs it" ;;
        "nicbarr tune"*--hosts*) echo "tools/tests/tune_test.sh runs it, with hosts of its own" ;;
        "nicsim report"*) echo "bench/nicsim/tests/report_test.sh runs it, on fewer nodes" ;;
        "nicsim scale"*) echo "bench/nicsim/tests/nicsim_test.sh runs it, on fewer nodes" ;;
        "nicsim fit"*) echo "it writes into the source tree" ;;
        testbeds/* | tests/machines/*) echo "it is for a virtual machine, which takes minutes" ;;
        *PID* | \$NETHOSTS_*) echo "it looks at a job of the reader's" ;;
        coll_nicbarr_*\ =\ * | *MYRD_*=* | *"#!/bin/sh") echo "a line of a file" ;;
        nft* | firewall-cmd* | *pkill* | *setpriv*) echo "it changes the system" ;;
        "mpirun ..."* | "export OMPI_MCA_mca_base"*) echo "it is a part of a command" ;;
        "barriers on MPI_COMM_WORLD"* | *"through between all nodes"* | *"MTUs differ?"*) echo "it is what a job says" ;;
        nethosts*) # which needs privileges
            [[ $1 != *--ipv6* ]] || is_open_mpi 4 || echo "it is for Open MPI 4.1"
            [[ $hosts == yes && ($kernels == yes || $1 != *--kernel*) ]] || echo "such hosts cannot be made here" ;;
    esac
}
commands() { # one per line, without comments, continued lines joined
    sed -nE -e '/^```/,/^```/{/^```/!p}' -e 's/^    //p' "$1" |
        sed -E -e ':more' -e '/\\$/{N;s/\\\n */ /;b more}' -e '/&&$/{N;s/\n */ /;b more}' |
        sed -E -e 's/ +# .*//' -e 's#/(etc/nicbarr|var/lib/prometheus/node-exporter)#\1#g'
}
run() { timeout -k 5 "${watchdog:-300}" bash -c "$1" > "$scratch/out" 2>&1 < /dev/null; }
works() { # COMMAND
    run "$1" || return
    [ "$1" != "${1/--plot/}" ] || return 0
    [ -s "$(sed -E 's/.*--plot ([^ ]+).*/\1/' <<< "$1")" ] # and the picture exists
}
mkdir -p var/lib/prometheus/node-exporter
pages="README.md docs/figures.md docs/using.md docs/admin.md docs/cluster-on-a-laptop.md docs/tuning-cache.md docs/simulator.md CONTRIBUTING.md"
for page in $pages; do
    while IFS= read -r command; do
        why=$(reason "$command")
        if [ -n "$why" ]; then
            echo "skip $page: $command ($why)"
        else
            check "$page: $command" works "$command"
        fi
    done < <(commands "$srcdir/$page")
done
check "more than 20 commands were found and work" [ "$passed" -gt 20 ]
check "the commands wrote the tuning cache in the directory of the test" [ -s "$XDG_CACHE_HOME/nicbarr/tuning.jsonl" ]
finish
