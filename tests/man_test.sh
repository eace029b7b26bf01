#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a man page lacks an option, a parameter or a function. Each installed program and subcommand has a page
# with all its options, nicbarr(7) has all parameters in the components' source, each function of libmyr has a page, and
# man accepts the pages without warnings. Run by `make check`; starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
pages=$build/docs/man
command -v man > /dev/null || { echo "there is no man"; exit 77; }
[ -e "$pages/nicbarr.1" ] || { echo "no pages were built: there is no help2man"; exit 77; }
export NICBARR_LIBEXECDIR=$top

items_of() { # PAGE: prints the items of the page (the lines after .TP), one per line
    sed -n '/^\.TP$/{n; s/^\.[BI] //; s/\\f[BIR]//g; s/\\-/-/g; p}' "$1"
}

has_all() { # PAGE COMMAND...: all long options in the output of --help must be items of the page
    local page=$pages/$1 name=${2##*/} option status=0
    [ $# -eq 2 ] || name="$name $3"
    items_of "$page" > items
    "${@:2}" --help > out 2> err || status=1
    grep -oE '^ *(-[a-zA-Z?], )?--[a-z0-9_-]+' out | grep -oE -- '--.*' | sort -u > options
    [ -s options ] || status=1
    while read -r option; do
        # Other forms of the option may precede it, and other forms and one word may follow; help2man puts no more into
        # an item.
        grep -qE "^((-[a-zA-Z?]|--[a-z0-9_-]+),? )*$option(, --[a-z0-9_-]+)*([= ][^ ]+)?$" items ||
            { status=1; echo "# no item of the page: $option"; }
    done < options
    grep -q "^$(basename "${page%.?}") \\\\- ." "$page" || status=1
    verdict $status "the page of $name"
}

programs=$(make -s -C "$build" --no-print-directory --eval 'listed: ; @echo $(bin_PROGRAMS)' listed | tail -n 1)
for program in $programs; do
    name=${program##*/}
    page=$(cd "$pages" && echo "$name".[18])
    has_all "$page" "$build/$program"
done
has_all nethosts.1 "$top/testbeds/hosts/nethosts"
has_all nicsim-report.1 "$build/bench/nicsim/nicsim" report
for command in $("$build/tools/nicbarr" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p'); do
    has_all "nicbarr-$command.1" "$build/tools/nicbarr" "$command"
    items_of "$pages/nicbarr.1" > out
    grep -qE "^$command( [A-Z]+)?$" out
    verdict $? "and nicbarr's page has $command as an item"
done

items_of "$pages/nicbarr.7" > items
{
    sed -n '/^} table\[\]/,/^};/p' "$top/coll_nicbarr/parameters.c" | tr -d ' \n' |
        grep -oE '(NUMBER|AMOUNT|FLAG|TEXT)\([a-z_]+,' | sed 's/.*(\(.*\),/coll_nicbarr_\1/'
    for component in btl_myr mtl_myr; do
        sed -n "s/^    add(\"\([a-z_]*\)\",.*/${component}_\1/p" "$top/$component/component.c"
        sed -n "s/^        {\"\([a-z_]*\)\",.*/${component}_\1/p" "$top/ompi/nic_options.c"
    done
} > parameters
lacking=0
[ "$(wc -l < parameters)" -gt 20 ] || lacking=1
while read -r parameter; do
    grep -q "^$parameter (" items || { lacking=1; echo "# no item of the page: $parameter"; }
done < parameters
verdict $lacking "nicbarr(7) has all parameters"
"$top/docs/man/parameters.sh" "$(sed -n 's/^OMPI_INFO = //p' "$build/Makefile")" "$build" 0 today > out 2> err && [ ! -s err ]
verdict $? "and Open MPI complains of nothing while they are listed"

# Each exported function must have a page with its prototype, and the overview must name it.
while read -r function; do
    grep -q "fB.*$function(" "$pages/$function.3" && grep -q "^.SH DESCRIPTION" "$pages/$function.3" &&
        grep -q "^\.BR $function (3)" "$pages/libmyr.3"
    verdict $? "the page of $function()"
done < <(sed -n 's/^ *\(myr_[a-z_]*\);$/\1/p' "$top/myr/libmyr.map")

for page in "$pages"/*.[1378]; do
    LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" > out 2> err && [ -s out ] && [ ! -s err ]
    verdict $? "man shows ${page##*/}"
done

finish
