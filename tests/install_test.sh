#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `make uninstall` leaves files behind, a staged installation (DESTDIR) is incomplete, installed
# commands do not start, or configure gives a wrong reason for stopping. Starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this script

# ---- install, uninstall

made() { # TARGET...: runs make with the variables of the build
    make -C "$build" --no-print-directory "$1" DESTDIR="$scratch/staged" > out 2> err
    verdict $? "make $1"
}
holds() { # NAME COMMAND...
    "${@:2}" > out 2> err
    verdict $? "$1"
}
prefix=$(realpath -m "$scratch/staged$(sed -n 's/^prefix = //p' "$build/Makefile")")
series=$(sed -n 's/^OMPI_SERIES = //p' "$build/Makefile")
components=$prefix/lib/nicbarr/openmpi-$series
made install
holds "the components" ls "$components"/mca_{coll_nicbarr,btl_myr,mtl_myr}.so
holds "and nothing else there" [ "$(find "$components" -mindepth 1 | wc -l)" = 3 ]
holds "nethosts is a link that stays within" [ "$(realpath "$prefix/bin/nethosts")" = "$prefix/libexec/nicbarr/testbeds/hosts/nethosts" ]
holds "nethosts runs from there" "$prefix/bin/nethosts" --help
says_version() { # NAME COMMAND...
    [ "$("${@:2}" --version)" = "$1 $(cat "$top/VERSION")" ]
}
helps() { # on a terminal of 80 columns, without breaks within a paragraph
    "$@" --help > help && LC_ALL=C.UTF-8 awk '
        length > 80 { print "too long: " $0; bad = 1 }
        /^[^ ]/ && before != "" && length(before) < 50 { print "broken: " before; bad = 1 }
        { before = /^[^ ]/ && !/^Usage:/ ? $0 : "" }
        END { exit bad || !NR }' help
}
export NICBARR_LIBEXECDIR=$prefix/libexec/nicbarr
for program in "$prefix"/bin/*; do
    name=${program##*/}
    holds "$name --help" helps "$program"
    holds "$name --version" says_version "$name" "$program"
    case $name in # the name of the man page; subcommands have pages of their own
        nicbarr) commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p') ;;
        nicsim) commands=report ;;
        *) commands='' ;;
    esac
    for command in $commands; do
        holds "$name $command --help" helps "$program" "$command"
        holds "$name $command --version" [ "$("$program" "$command" --version | grep -cE "^$name( $command)? $(cat "$top/VERSION")$")" = 1 ]
    done
done
unset NICBARR_LIBEXECDIR
holds "nobody knows the staging directory" eval "! grep -rIl '$scratch' '$prefix'"
holds "the documents" ls "$prefix"/share/doc/nicbarr/{README.md,docs/{admin,quickstart-cluster,using}.md,docs/pictures/summary.svg}
holds "programs name documents that are there" bash -c 'names=$(grep -aohE "/docs/[a-z-]+\.md" "$1/bin/nicbarr" | sort -u) && [ -n "$names" ] &&
    for name in $names; do [ -e "$1/share/doc/nicbarr$name" ] || exit; done' - "$prefix"
modulefile=$prefix/share/modulefiles/nicbarr/$(cat "$top/VERSION")-openmpi-$series
named=$(sed -n 's/^[a-z]*-path [A-Za-z_]* \//\//p' "$modulefile")
holds "the module file names directories" [ "$(wc -l <<< "$named")" = 4 ]
for dir in $named; do
    holds "${dir##*/} is there" [ -d "$(realpath -m "$scratch/staged$dir")" ]
done
holds "and the release" grep -q "\"$series\" ne " "$modulefile"

# After the module has been loaded, by environment modules or Lmod, everything must be found, and earlier settings must
# be unchanged.
modules=$(command -v modulecmd || echo "${LMOD_CMD-/usr/share/lmod/lmod/libexec/lmod}")
module() { eval "$("$modules" bash "$@" 2> err)" && [ ! -s err ]; }
with_module() { (module load nicbarr && "$@"); }
if [ -x "$modules" ]; then
    export MODULEPATH=$scratch/modules
    mkdir -p modules/nicbarr
    sed "s|^\([a-z]*-path [A-Za-z_]*\) /|\1 $scratch/staged/|" "$modulefile" > "modules/nicbarr/${modulefile##*/}"
    holds "module load: the commands" [ "$(with_module bash -c 'realpath "$(command -v nicbarr)"')" = "$prefix/bin/nicbarr" ]
    holds "pkg-config" [ "$(with_module pkg-config --modversion myr)" = "$(cat "$top/VERSION")" ]
    holds "the library" with_module bash -c '[ -e "${LD_LIBRARY_PATH%%:*}/libmyr.so.0" ]'
    with_module "$(sed -n 's/^OMPI_INFO = //p' "$build/Makefile")" --all --parsable > out 2> err
    for component in coll:nicbarr btl:myr mtl:myr; do
        grep -q "^mca:$component:version:.*component:" out
        verdict $? "Open MPI finds $component"
    done
    with_path() { # BEFORE: prints the path after loading if it was BEFORE
        (export OMPI_MCA_mca_base_component_path=$1 && with_module bash -c 'echo "$OMPI_MCA_mca_base_component_path"')
    }
    ours=$(with_path "")
    holds "Open MPI's own are there" [ "${ours##*:}" = SYSTEM_DEFAULT ]
    holds "and the user's" [ "$(with_path "/opt/a b:SYSTEM_DEFAULT")" = "${ours%:*}:/opt/a b:SYSTEM_DEFAULT" ]
    (unset OMPI_MCA_mca_base_component_path && module load nicbarr && module unload nicbarr && env) > out &&
        ! grep -E "$scratch/staged|^(OMPI|PMIX)_MCA_mca_base_component_path=." out
    verdict $? "module unload leaves nothing"
else
    verdict 0 "module load # SKIP there are no modules (on Debian: environment-modules)"
fi
find "$scratch/staged" | sort > first
made install
find "$scratch/staged" | sort | cmp first - > out 2> err
verdict $? "a second time is the same"
mkdir -p "$prefix/lib/nicbarr/openmpi-9.9"
touch "$prefix/share/others" "$prefix/lib/nicbarr/openmpi-9.9/mca_coll_nicbarr.so"
made uninstall
holds "nothing is left but what is others'" [ "$(find "$scratch/staged" -not -type d | sort)" = "$prefix/lib/nicbarr/openmpi-9.9/mca_coll_nicbarr.so
$prefix/share/others" ]
holds "no directory of ours" [ "$(find "$prefix" -mindepth 1 \( -name 'nicbarr*' -o -name myr \))" = "$prefix/lib/nicbarr" ]

# ---- configure

says() { # NAME PATTERN VARIABLE=VALUE...
    mkdir -p configured
    (cd configured && env "${@:3}" "$top/configure" --quiet) > out 2> err
    [ $? = 1 ] && grep -Eq -e "error: $2" err
    verdict $? "$1"
    rm -rf configured
}
cat > mpicc << 'EOS'
#!/bin/sh
case $1 in *version) echo "mpicc: Open MPI $RELEASE (Language: C)" ;; *) echo /usr/include ;; esac
EOS
chmod +x mpicc
says "no pkg-config" "there is no pkg-config" PKG_CONFIG=
says "no such compiler" "MPICC is \"nowhere/mpicc\", and there is no such command" MPICC=nowhere/mpicc
says "another compiler" ".*/bin/cat is no compiler wrapper of Open MPI's" MPICC=cat
says "another release" "$scratch/mpicc belongs to Open MPI 3.1.4, and nicbarr is written for 4.1, 5.0 and 6.0" \
    MPICC="$scratch/mpicc" RELEASE=3.1.4

finish
