#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, packages of nicbarr would be built with a wrong version or wrong options: the Debian packages, the RPM
# spec, Spack's recipe and the newest entry of CHANGELOG.md must name the version in VERSION, and `configure` must know
# each option that they pass (it only warns of unknown ones). Starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
command -v python3 > /dev/null || { echo "there is no python3"; exit 77; }
version=$(cat "$top/VERSION")

of_version() { # NAME VERSION
    [ "$2" = "$version" ]
    verdict $? "$1 is of $version${2:+ ($2)}"
}
spec=$build/packaging/rpm/nicbarr.spec
[ -e "$spec" ] || spec=$top/packaging/rpm/nicbarr.spec # in a tarball
of_version "CHANGELOG.md" "$(sed -n 's/^## \([0-9.]*\), .*/\1/p' "$top/CHANGELOG.md" | head -n 1)"
of_version "packaging/debian/changelog" "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/packaging/debian/changelog")"
of_version "the RPM spec" "$(sed -n 's/^Version: *//p' "$spec")"
# Python must not write bytecode beside the recipe.
python3 -B "$top/tests/recipes.py" "$top/packaging/spack/spack_repo/nicbarr/packages/nicbarr/package.py" > recipe 2> err
verdict $? "Spack's recipe is read"
of_version "it" "$(sed -n 's/^version //p' recipe)"
[ "$(grep -c '^options .*--with-libibverbs' recipe)" = "$(grep -c '^options .*--without-libibverbs' recipe)" ]
verdict $? "its variants give options"

# `configure --help` shows only one of the two forms of an option, such as --with-x and --without-x.
known() { sed 's/^--\(with\|without\|enable\|disable\)-/--/; s/[=[].*//'; }
"$top/configure" --help | grep -oE -- '^ *--(with|without|enable|disable)-[a-z0-9-]+' | tr -d ' ' | known | sort -u > options
"$top/configure" --help | sed -n 's/^  \([A-Z][A-Z0-9_]*\)\( .*\)\{0,1\}$/\1/p' | sort -u > variables
names() { # WHO FILE
    grep -oE -- '--(with|without|enable|disable)-[a-z0-9-]+' "$2" | known | sort -u > theirs
    [ -s theirs ] && comm -23 theirs options > out && [ ! -s out ]
    verdict $? "configure knows the options of $1"
}
names "Spack's recipe" recipe
grep -oE '[A-Z_]+=' recipe | tr -d = | sort -u | comm -23 - variables > out
[ ! -s out ]
verdict $? "and its variables"
grep dh_auto_configure "$top/packaging/debian/rules" > rules
names "packaging/debian/rules" rules
grep '^%configure' "$spec" > rpm
names "the RPM spec" rpm

finish
