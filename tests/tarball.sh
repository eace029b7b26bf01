#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a release would lack files or could not be reproduced. The tarball must contain all files in git. A
# clone that is packed at another time, with other file modes and in another time zone, must result in the same bytes.
# Called by test.sh and release.sh; the tarball remains in the build directory.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this script
tarball=nicbarr-$(cat "$top/VERSION").tar.xz

make -s -C "$build" --no-print-directory dist > out 2> err
verdict $? "make dist"
tar -tf "$build/$tarball" | sed 's|^[^/]*/||' | sort > packed
git -C "$top" ls-files ':!.*' ':!**/.*' > tracked && sort tracked | comm -23 - packed > out
[ -s tracked ] && [ -s packed ] && [ ! -s out ]
verdict $? "it has all that git has"

umask 077
export TZ=Asia/Kathmandu
mkdir clone && chmod g+s clone # the set-group-ID bit is inherited there
{
    git clone -q "$top" clone && git -C "$top" diff --binary HEAD > changes &&
        git -C clone apply --allow-empty "$scratch/changes" &&
        find clone -path clone/.git -prune -o -type f -exec touch -d '2001-02-03 04:05:06' {} + &&
        clone/autogen.sh && mkdir clone/_build && cd clone/_build && ../configure --quiet --disable-man && make -s dist
} > out 2> err
verdict $? "a clone makes one, too"
cd "$scratch" && mkdir first second && tar -xf "$build/$tarball" -C first && tar -xf "clone/_build/$tarball" -C second
{
    diff -r first second
    diff <(tar -tvf "$build/$tarball") <(tar -tvf "clone/_build/$tarball")
} > out 2> err
cmp "$build/$tarball" "clone/_build/$tarball" >> out 2>> err
verdict $? "of the same bytes"

finish
