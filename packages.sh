#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Build Debian packages of this checkout, for this machine's release of Debian:
#
#     ./packages.sh [DIRECTORY]       # puts them into DIRECTORY (_packages)
#
# The script installs the build dependencies, as root or by sudo. It builds in a copy of the checkout, which is
# not changed.
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
case $#-${1-} in 0- | 1-[!-]*) ;; *) usage ;; esac
cd "$(dirname "$0")"
dir=${1-_packages}
give_up() { echo "packages.sh: $1" >&2; exit 1; }
command -v apt-get > /dev/null || give_up "there is no apt here; README.md says under \"Elsewhere\" how to install without packages"
[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' packaging/debian/changelog)" = "$(cat VERSION)" ] ||
    give_up "packaging/debian/changelog begins with another version than VERSION"

if ! dpkg-checkbuilddeps packaging/debian/control 2> /dev/null; then
    as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo > /dev/null || give_up "packages are missing and there is no sudo; as root, run: apt-get update && apt-get build-dep -y --no-install-recommends $PWD/packaging"
        as_root=(sudo)
    fi
    echo "== installing what it takes to build packages"
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get build-dep -y -qq --no-install-recommends "$PWD/packaging" > _apt.log 2>&1 ||
        { tail -n 20 _apt.log >&2; give_up "apt-get failed; see _apt.log"; }
fi

echo "== building packages"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -rf "$dir"/nicbarr-build "$dir"/*.deb
mkdir "$dir/nicbarr-build"
tar -c --exclude='./_*' --exclude=./.git --exclude=./autom4te.cache . | tar -x -C "$dir/nicbarr-build"
mv "$dir/nicbarr-build/packaging/debian" "$dir/nicbarr-build" # where dpkg expects it
(cd "$dir/nicbarr-build" && DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage --build=binary --no-sign -j"$(nproc)") > "$dir/build.log" 2>&1 ||
    { tail -n 40 "$dir/build.log" >&2; give_up "the build failed; see $dir/build.log"; }
rm -rf "$dir/nicbarr-build"
ls "$dir"/*.deb
