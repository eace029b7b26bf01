#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts have in common that people call: they say what they are for, and env.sh leaves the
# person's settings alone. Starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"

run() { # COMMAND...
    "$@" > out 2> err
    status=$?
}

# ---- --help

for script in nethosts/nethosts verbshosts/verbshosts tests/machines/machines bench/{data,data_hosts,foreign,hosts,kernel,machines,neighbour,p2p,petsc,regret,verbs}.sh; do
    run bash "$top/$script" --help
    works "$script --help" "^    (bench/)?${script##*/} "
    run bash "$top/$script" --wibble
    [ "$status" = 64 ] && [ ! -s out ] && grep -q "^    .*${script##*/}" err
    verdict $? "$script --wibble"
done

# ---- completion

completes() { # NAME PATTERN WORD...: one of what it says for the last of the words is this
    COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3)) COMPREPLY=()
    _nicbarr 2> err
    printf '%s\n' "${COMPREPLY[@]}" > out
    grep -qxE -e "$2" out && [ ! -s err ]
    verdict $? "$1"
}
# shellcheck source=tools/completion.bash
. "$top/tools/completion.bash"
build=$(cd "${builddir:-$top/_build}" && pwd)
export NICBARR_LIBEXECDIR=$top
completes "a command of nicbarr's" status "$build/tools/nicbarr" st
completes "a command of nicsim's" barrier "$build/bench/nicsim/nicsim" b
completes "an option of myrd's" --kernel "$build/myrd/myrd" --k
completes "an option of nethosts'" --duplicate "$top/nethosts/nethosts" --d
completes "an option of a command's" --json "$build/tools/nicbarr" status --
completes "an option of a script's" --write "$build/tools/nicbarr" tune --w
completes "nothing for a file" '' "$build/tools/nicbarr" report so
[ "$(wc -l < out)" = 1 ]
verdict $? "and no other"
unset NICBARR_LIBEXECDIR

# ---- env.sh

# An Open MPI of any release, as far as env.sh looks. It says which only where it finds components.
mkdir bin lib
cat > bin/mpirun << 'EOS'
#!/bin/sh
[ -z "${OMPI_MCA_mca_base_component_path+set}" ] || { echo "mpirun: unknown option" >&2; exit 1; }
echo "mpirun (Open MPI) $RELEASE"
EOS
chmod +x bin/mpirun
sed -e "s|@libdir@|$scratch/lib|; s|@bindir@|$scratch/tools|" "$top/ompi/env.sh.in" > env.sh
for release in 4.1 5.0; do
    mkdir -p "lib/nicbarr/openmpi-$release"
    touch "lib/nicbarr/openmpi-$release/mca_coll_nicbarr.so"
done
path() { # RELEASE: the component path after sourcing, with the present one before
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
becomes "another nicbarr" "/opt/lib/nicbarr/openmpi-4.1:SYSTEM_DEFAULT" 4.1.4 "$ours-4.1:SYSTEM_DEFAULT"
becomes "the person's own folders" "/opt/a b:SYSTEM_DEFAULT:/opt/c" 4.1.4 "$ours-4.1:/opt/a b:SYSTEM_DEFAULT:/opt/c"
becomes "and no others" "/opt/alone" 4.1.4 "$ours-4.1:/opt/alone"
path 3.1.0 > out
[ $? = 1 ] && grep -q "not built for Open MPI 3.1" err
verdict $? "a release without components"

finish
