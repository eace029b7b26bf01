#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Make a release of this commit, after checking that all version numbers agree:
#
#     ./release.sh       # the tarball and its SHA-256 go into _release
#
# It ends with the command that tags the commit, and tags nothing itself. CONTRIBUTING.md lists the steps before.
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
[ $# = 0 ] || usage
cd "$(dirname "$0")"
give_up() { echo "release.sh: $1" >&2; exit 1; }
version=$(cat VERSION)
[ -z "$(git status --porcelain)" ] || give_up "the checkout has changes that are not committed; git status shows them"
! git rev-parse --quiet --verify "refs/tags/v$version" > /dev/null ||
    give_up "there is a tag v$version already: a new release has a new number in VERSION"
grep -qxE "## $version, [0-9]{4}-[0-9]{2}-[0-9]{2}" CHANGELOG.md ||
    give_up "CHANGELOG.md does not say when $version is released: its entry begins with \"## $version, $(date +%F)\" then"

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
(cd _release && sha256sum "$tarball" | tee "$tarball.sha256")
cat << EOS
$PWD/_release/$tarball
  tag:        git tag --annotate v$version --message "nicbarr $version"
  whoever gets it:  sha256sum --check $tarball.sha256
EOS
