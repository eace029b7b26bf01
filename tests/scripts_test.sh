#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a script starts work when it is asked for --help, the completion is wrong, or env.sh overrides
# the user's settings. Starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"

run() { # COMMAND...
    "$@" > out 2> err
    status=$?
}

# ---- --help

for script in testbeds/{hosts/nethosts,verbs/verbshosts,machines/machines} bench/{data,data_hosts,foreign,hosts,kernel,machines,neighbour,p2p,petsc,regret,rivals,verbs}.sh; do
    run bash "$top/$script" --help
    works "$script --help" "^    (bench/)?${script##*/} "
    [ "$script" != testbeds/hosts/nethosts ] || continue
    run bash "$top/$script" --wibble
    [ "$status" = 64 ] && [ ! -s out ] && grep -q "^    .*${script##*/}" err
    verdict $? "$script --wibble"
done
misused() { # LINE ARGUMENT...: nethosts must report the error in one line and start nothing
    run bash "$top/testbeds/hosts/nethosts" "${@:2}"
    [ "$status" = 64 ] && [ ! -s out ] && [ "$(wc -l < err)" = 1 ] && grep -q "^nethosts: $1.* (try --help)$" err
    verdict $? "nethosts ${*:2}"
}
misused "there is no option '--wibble'" --wibble
misused "there is no option '-np'" -np 4 ./a.out
misused "HOSTS and a program are missing"
misused "--loss needs a value" --loss
misused "--mtu must be a number of bytes, not 'x'" --mtu x 2 ./a.out
for hosts in x 0 '' 2.5; do
    misused "HOSTS must be a number from 1 to 250, not '$hosts'" "$hosts" ./a.out
done
misused "at most 250 hosts" 251 ./a.out
misused "PER-HOST must be a number from 1 on, not '0'" 2 0 ./a.out
misused "the program is missing" 4
misused "the program is missing" 4 2
misused "--redirect cannot have faults" --redirect --loss 1 2 ./a.out

# --help must not start an installation, a demonstration or a test of minutes.
says_head() { # FILE begins with the script's head comment
    [ "$(head -n 1 "$1")" = "$(sed -n '3s/^# //p' "$script")" ]
}
for script in "$top"/*.sh "$top"/tests/*.sh "$top"/tests/{component,fuzz,litmus,machines,mpi,mutations,spin}/*.sh "$top"/testbeds/*/tests/*.sh \
    "$top/tests/fetched"; do
    [ -x "$script" ] || continue # scripts that are not executable are sourced by others
    run timeout 60 "$script" --help
    [ "$status" = 0 ] && says_head out && [ ! -s err ] && ! grep -q shellcheck out
    verdict $? "${script#"$top"/} --help"
done
for script in svg_texts open_pages; do
    run python3 -B "$top/bench/report/$script.py" --help
    works "$script.py --help" "^    $script.py "
done
for name in {autogen,demo,packages,release,setup,test}.sh tests/{debian,packages,processors,style}.sh tests/fetched; do
    script=$top/$name
    run timeout 60 "$script" --wibble
    [ "$status" = 64 ] && says_head err && [ ! -s out ]
    verdict $? "$name --wibble"
done

# Without root, the message must contain the command to call.
mkdir user
printf '#!/bin/sh\necho 1000\n' > user/id
chmod +x user/id
for call in musl.sh "musl.sh tests/unit/wire_test" packages.sh "processors.sh arm64" "debian.sh 13 true"; do
    # shellcheck disable=SC2086 # words
    PATH=$scratch/user:$PATH run "$top/tests/"$call
    [ "$status" = 77 ] && [ "$(cat out)" = "a chroot needs root: sudo $top/tests/$call" ]
    verdict $? "tests/$call for a user"
done

# ---- results of benchmarks

store() { python3 -B "$top/bench/figures.py" store "$1" results.json bench/rivals.sh -j results.json -c 5 2 barrier; }
row='{"operation": "barrier", "bytes": null, "layout": "2", "component": "tuned", "ratio": [1.0, 1.2, 1.35]}'
run store rivals <<< "$row"
[ "$status" = 0 ] && grep -qF "$row" results.json && grep -qF '"command": "bench/rivals.sh -c 5 2 barrier"' results.json &&
    grep -q '"date": "20' results.json && grep -q '"processors": [1-9]' results.json
verdict $? "a run is stored, with its command, date and machine"
run python3 -B "$top/bench/figures.py" table results.json
works "its table" '^\| 2 processes,.* \| tuned \|$' '^\| MPI_Barrier \| 1\.00 \*\*1\.20\*\* 1\.35 \|$'
run store startup <<< '{}'
[ "$status" = 1 ] && grep -q 'results of another kind: rivals' err
verdict $? "one of another kind is refused"

# ---- the parts of test.sh

listed() { make -s -C "$build" --no-print-directory --eval "listed: ; @echo \$($1)" listed | tr ' ' '\n' | sort; }
parts() { awk '!/^#/ && NF { print $3 }' "$top/tests/parts"; }
prefixes() { awk '!/^#/ { for (i = 4; i <= NF; i++) print $i }' "$top/tests/parts" | sort -u; }
none_of() { while read -r prefix; do compgen -G "$top/$prefix*" > /dev/null || echo "$prefix"; done > out; [ ! -s out ]; }
all_in() { comm -23 - <(parts | sed 's/\(.sh\):.*/\1/' | sort -u) > out && [ ! -s out ]; }
listed 'filter-out $(unit_programs) $(fibre_programs) tools/tests/tools_test docs/example,$(TESTS)' 2> err | all_in
verdict $? "each test of the Makefile's is one"
listed component_tests 2> err | sed 's/^/openmpi5:/' | all_in
verdict $? "and those that depend on Open MPI's release are with 5.0, too"
parts | sort | uniq -d > out
[ ! -s out ]
verdict $? "none is there twice"
prefixes | grep -v '^\.' | none_of # the tarball contains no files whose names begin with a dot
verdict $? "what a part's prefixes name is there"

# ---- the list of mutations

run "$top/tests/mutations/run.sh" --check
[ "$status" = 0 ] && [ ! -s out ] && [ ! -s err ]
verdict $? "each text that a mutation replaces is there, once"

# ---- completion

completes() { # PATTERN WORD...: one of the suggestions for the last word must match PATTERN
    COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3)) COMPREPLY=()
    _nicbarr 2> err
    printf '%s\n' "${COMPREPLY[@]}" > out
    grep -qxE -e "$2" out && [ ! -s err ]
    verdict $? "$1"
}
# shellcheck source=tools/completion.bash
. "$top/tools/completion.bash"
export NICBARR_LIBEXECDIR=$top
completes "a command of nicbarr's" status "$build/tools/nicbarr" st
completes "a command of nicsim's" barrier "$build/bench/nicsim/nicsim" b
completes "an option of myrd's" --kernel "$build/myrd/myrd" --k
completes "an option of nethosts'" --duplicate "$top/testbeds/hosts/nethosts" --d
completes "an option of a command's" --json "$build/tools/nicbarr" status --
completes "an option of a script's" --write "$build/tools/nicbarr" tune --w
completes "nothing for a file" '' "$build/tools/nicbarr" report so
[ "$(wc -l < out)" = 1 ]
verdict $? "and no other"
unset NICBARR_LIBEXECDIR

# ---- env.sh

# A fake Open MPI of any release, sufficient for env.sh. It reports its release only if the component path is such that
# it finds its components.
mkdir bin lib
cat > bin/mpirun << 'EOS'
#!/bin/sh
[ -z "${OMPI_MCA_mca_base_component_path+set}" ] || { echo "mpirun: unknown option" >&2; exit 1; }
echo "mpirun (Open MPI) $RELEASE"
EOS
chmod +x bin/mpirun
sed -e "s|@libdir@|$scratch/lib|; s|@bindir@|$scratch/tools|" "$top/ompi/env.sh.in" > env.sh
for release in 4.1 5.0 6.0; do
    mkdir -p "lib/nicbarr/openmpi-$release"
    touch "lib/nicbarr/openmpi-$release/mca_coll_nicbarr.so"
done
path() { # prints the component path after sourcing env.sh, given the present one
    # shellcheck disable=SC2016 # for the shell that it starts
    RELEASE=$1 PATH=$scratch/bin:$PATH sh -euc '. ./env.sh && echo "$OMPI_MCA_mca_base_component_path"' 2> err
}
becomes() { # NAME BEFORE RELEASE AFTER
    [ "$(OMPI_MCA_mca_base_component_path=$2 path "$3")" = "$4" ] && [ ! -s err ]
    verdict $? "$1"
}
ours=$scratch/lib/nicbarr/openmpi
becomes "env.sh alone" "" 4.1.4 "$ours-4.1:SYSTEM_DEFAULT"
becomes "twice" "$ours-4.1:SYSTEM_DEFAULT" 4.1.4 "$ours-4.1:SYSTEM_DEFAULT"
becomes "for another release" "$ours-4.1:SYSTEM_DEFAULT" 5.0.7 "$ours-5.0:SYSTEM_DEFAULT"
becomes "for 6.0" "$ours-5.0:SYSTEM_DEFAULT" 6.0.0rc2 "$ours-6.0:SYSTEM_DEFAULT"
becomes "another nicbarr" "/opt/lib/nicbarr/openmpi-4.1:SYSTEM_DEFAULT" 4.1.4 "$ours-4.1:SYSTEM_DEFAULT"
becomes "the user's own directories" "/opt/a b:SYSTEM_DEFAULT:/opt/c" 4.1.4 "$ours-4.1:/opt/a b:SYSTEM_DEFAULT:/opt/c"
becomes "and no others" "/opt/alone" 4.1.4 "$ours-4.1:/opt/alone"
path 3.1.0 > out
[ $? = 1 ] && grep -q "not built for Open MPI 3.1" err
verdict $? "a release without components"

finish
