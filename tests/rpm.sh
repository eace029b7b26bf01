#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, users of RPM packages cannot install or remove them cleanly. rpmbuild builds the packages from the
# tarball. They are installed into an empty directory, used there, and removed, and no file may remain. On Debian the
# database of rpm is empty, so dependencies are not checked, and this script defines Fedora's macros for services.
#
# The script is run by hand, because it takes a build and two minutes:
#
#     make -C _build dist && tests/rpm.sh
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
command -v rpmbuild > /dev/null || { echo "there is no rpmbuild"; exit 77; }
version=$(cat "$top/VERSION")
tarball=$build/nicbarr-$version.tar.xz
[ -e "$tarball" ] || { echo "there is no $tarball: make -C $build dist"; exit 99; }
packages="nicbarr-openmpi nicbarr-tools myrd libmyr libmyr-devel"

defined=(--define "_topdir $scratch/built")
if [ "$(rpm --eval %_userunitdir)" = %_userunitdir ]; then
    defined+=(--define "_unitdir /usr/lib/systemd/system" --define "_userunitdir /usr/lib/systemd/user")
    for script in post preun postun; do
        defined+=(--define "systemd_$script() %{nil}" --define "systemd_user_$script() %{nil}")
    done
fi
rpmbuild -ta --nodeps "${defined[@]}" "$tarball" > out 2> err
verdict $? "the packages are built, and hold all that is installed"
for package in $packages; do
    ls built/RPMS/*/"$package-$version"-*.rpm > out 2> err
    verdict $? "there is $package"
done

on_root() { # RPM'S OPTION...
    rpm --root "$scratch/root" --dbpath /known "$@"
}
mkdir root
on_root --initdb && on_root --install --nodeps --noscripts built/RPMS/*/*.rpm > out 2> err
verdict $? "they are installed"
installed() { (cd root && find . \( -path ./var -o -path ./known \) -prune -o -not -type d -print) | sed 's/^\.//' | sort; }
installed > with
on_root --query --all --list | while read -r file; do [ -d "root$file" ] || echo "$file"; done | sort -u > told
[ -s with ] && diff with told > out 2> err
verdict $? "and hold what is there"
for file in bin/nicbarr bin/myrd include/myr/myr.h share/man/man1/nicbarr.1 share/man/man7/nicbarr.7 \
    share/man/man8/myrd.8 lib/systemd/system/myrd-kernel.service lib/systemd/user/myrd.service; do
    grep -qE "^/usr/$file(\.gz)?$" with # Fedora's rpm compresses man pages
    verdict $? "there is /usr/$file"
done
[ "$(grep -cE '^/.*/mca_(coll_nicbarr|btl_myr|mtl_myr)\.so$' with)" = 3 ]
verdict $? "and the components"
[ "$("root/usr/bin/nicbarr" --version)" = "nicbarr $version" ]
verdict $? "nicbarr --version"
# shellcheck disable=SC2086 # names
on_root --erase --nodeps --noscripts $packages > out 2> err
verdict $? "they are removed"
installed | cmp - /dev/null > out 2> err
verdict $? "nothing is left"

finish
