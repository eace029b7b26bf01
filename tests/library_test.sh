#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, programs that were linked with an earlier libmyr may break, or the documented way to build one does
# not work. Builds docs/example.c with pkg-config against an installed libmyr and runs it; compares exported functions
# with myr/libmyr.map and myr/myr.h, and structures with tests/library_layout.c. Starts no job.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this script

holds() { # NAME COMMAND...
    "${@:2}" > out 2> err
    verdict $? "$1"
}
equal() { # NAME FILE FILE
    diff "$2" "$3" > out 2> err
    verdict $? "$1"
}
variable() { sed -n "s/^$1 = //p" "$build/Makefile"; }
cc() { # compiles as a program outside of the source tree would
    # shellcheck disable=SC2046 # words
    $(variable CC) "$@" $(pkg-config --cflags --libs myr)
}

# ---- installed

root=$scratch/root
holds "it is installed" make -C "$build" --no-print-directory DESTDIR="$root" \
    install-libLTLIBRARIES install-myrincludeHEADERS install-pkgconfigDATA
library=$(find "$root" -name libmyr.so.0)
header=$(find "$root" -name myr.h)
libdir=${library%/*}
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
holds "pkg-config knows the version" [ "$(pkg-config --modversion myr)" = "$(cat "$top/VERSION")" ]
holds "it is called libmyr.so.0" grep -q 'SONAME.*\[libmyr\.so\.0\]' <(readelf -d "$library")
readelf -d "$library" | grep NEEDED | grep -vE '\[(libc|libsodium|ld-linux.*|libasan|libubsan|libtsan)\.so\.[0-9]*\]' > out
[ ! -s out ]
verdict $? "it needs no MPI, nor anything else"

# ---- the interface

awk '/^[A-Z]/ { node = $1 } /^ *[a-z_]*;$/ { sub(";", "", $1); print $1 "@@" node }' "$top/myr/libmyr.map" | sort > map
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort > exported
equal "what is exported is what the map says" map exported
holds "and that is not nothing" grep -q . map
cp "$header" header.h
holds "the header stands by itself, in C99" gcc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -aux-info declared header.h
holds "and in C++" g++ -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ header.h
sed -n 's/^.*header\.h:.* \*\{0,1\}\([a-z_]*\) (.*$/\1/p' declared | sort > declared_names
sed 's/@@.*//' map > names
equal "it declares just these functions" names declared_names
cp "$top/tests/library_layout.c" .
holds "structures lie as they did" cc library_layout.c -c

# ---- a program

cp "$top/docs/example.c" .
holds "the example is built outside of the tree" cc example.c -o example -Wall -Wextra -Werror
example() { # ARGUMENT...
    ./example "$@" > out 2> err
    status=$?
}
example
works "and runs" '^process 0 did 1000 barriers$' '^process 1 did 1000 barriers$' '^process 2 did 1000 barriers$'
example soft network=203.0.113.0/24
grep -q 'example: .*203\.0\.113\.0/24' err && [ "$status" != 0 ]
verdict $? "a network that is not there is named"

finish
