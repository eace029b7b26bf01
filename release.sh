#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Make a release of this commit, after checking that all version numbers agree:
#
#     ./release.sh               # the tarball, the packages for Debian, and their SHA-256 go into _release
#     ./release.sh --tarball     # the tarball alone
#
# The packages are built, installed, used and removed in chroots (tests/packages.sh), which requires root and takes
# half an hour. At the end the script prints the command that tags the commit, but does not execute it. CONTRIBUTING.md
# lists the steps that precede a release.
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
releases="bookworm trixie forky"
case $#-${1-} in
    0-) ;;
    1---tarball) releases= ;;
    *) usage ;;
esac
cd "$(dirname "$0")"
give_up() { echo "release.sh: $1" >&2; exit 1; }
version=$(cat VERSION)
[ -z "$(git status --porcelain)" ] || give_up "the checkout has changes that are not committed; git status shows them"
! git rev-parse --quiet --verify "refs/tags/v$version" > /dev/null ||
    give_up "there is a tag v$version already: a new release has a new number in VERSION"
grep -qxE "## $version, [0-9]{4}-[0-9]{2}-[0-9]{2}" CHANGELOG.md ||
    give_up "CHANGELOG.md has no release date for $version: its entry must begin with \"## $version, $(date +%F)\""

./setup.sh build
rm -rf _release
mkdir _release
log=$PWD/_release/release.log
echo "== looking at versions, and making the tarball twice"
for test in recipes_test install_test tarball; do
    "tests/$test.sh" >> "$log" 2>&1 ||
        { grep -A 5 '^not ok' "$log" >&2 || tail -n 5 "$log" >&2; give_up "tests/$test.sh does not pass; see $log"; }
done
tarball=nicbarr-$version.tar.xz
cp "_build/$tarball" _release

own=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
for codename in $releases; do
    echo "== packages for $codename"
    tests/packages.sh "$codename" >> "$log" 2>&1 || give_up "tests/packages.sh $codename does not pass; see $log"
    built=_packages-$codename
    [ "$codename" != "$own" ] || built=_packages
    mkdir "_release/$codename"
    cp "$built"/*.deb "_release/$codename"
done
(cd _release && find . -name '*.tar.xz' -o -name '*.deb' | sort | xargs sha256sum | tee SHA256SUMS)
cat << EOS
$PWD/_release
  to tag the release:      git tag --annotate v$version --message "nicbarr $version"
  to check a download:     sha256sum --check --ignore-missing SHA256SUMS
EOS
