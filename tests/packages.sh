#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, users of the Debian packages cannot install, use or remove them cleanly. ./packages.sh builds the
# packages, and lintian must find nothing. In a minimal Debian of this machine's release they are installed, used and
# removed: mpirun must use nicbarr without any settings, and the example of libmyr must compile. Nothing may be left
# behind.
#
# To be run as root. test.sh calls it; for another release, such as trixie, whose packages are built in a chroot as
# well, it is called by hand:
#
#     tests/packages.sh [CODENAME]
#
# Chroots are kept in _cache.
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
case $#-${1-} in 0- | 1-[!-]*) ;; *) usage ;; esac
chroot_allowed "$@"
command -v lintian > /dev/null || { echo "there is no lintian"; exit 77; }
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
codename=${1-$own}
built=$top/_packages
root=$top/_cache/bare
[ "$codename" = "$own" ] || { built=$built-$codename; root=$root-$codename; }
ours="openmpi-nicbarr nicbarr-tools myrd libmyr0 libmyr-dev"
limit=300 # seconds after which a command is considered hung

# ---- build
if [ "$codename" = "$own" ]; then
    "$top/packages.sh" "$built" > out 2> err
else
    builder=$top/_cache/builder-$codename
    chroot_make "$builder" "$codename" dpkg-dev || exit 99
    chroot_run "$builder" "/nicbarr/packages.sh" "/nicbarr/${built##*/}" > out 2> err
fi
verdict $? "the packages are built"
lintian --fail-on error,warning --tag-display-limit 0 "$built"/*.changes > out 2> err
verdict $? "lintian finds no errors and no warnings"
for package in $ours; do
    ls "$built/$package"_*.deb > out 2> err
    verdict $? "there is $package"
done

# ---- install
chroot_make "$root" "$codename" "gcc,libc6-dev,openmpi-bin,pkg-config" || exit 99
rm -rf "$root/packages"
mkdir "$root/packages"
cp "$built"/*.deb "$root/packages"
inside() { # COMMAND...: status, out, err
    chroot_run "$root" env DEBIAN_FRONTEND=noninteractive timeout "$limit" "$@" > out 2> err
    status=$?
}
as_user() { # COMMAND...: as `inside`, but as a user without any settings
    inside su --login tester -c "$*"
}
files() { # lists the files of the chroot, except those that any package changes, and those of the user
    (cd "$root" && find . -xdev \( -path ./packages -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt -o \
        -path ./var/lib/dpkg -o -path ./home -o -path ./tmp -o -path ./proc -o -path ./sys -o -path ./dev \) -prune -o -print) | sort
}
rm -rf "$root/home/tester" # measurements of an earlier run
chroot_run "$root" id tester > /dev/null 2>&1 || chroot_run "$root" useradd tester --shell /bin/bash
chroot_run "$root" install -d -o tester -g tester /home/tester
# Install the dependencies first, so that files which they leave behind are not attributed to nicbarr's packages.
apt_install="apt-get install -y -qq --no-install-recommends"
inside bash -c "
    dpkg --purge $ours; apt-get update -qq &&
    $apt_install \$($apt_install --simulate /packages/*.deb | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
        grep -vxE '${ours// /|}')"
verdict $status "what they depend on is installed"
files > before
inside bash -c "$apt_install /packages/*.deb"
verdict $status "they are installed"
files > with
for file in etc/nicbarr/myrd.conf usr/share/doc/nicbarr-tools/docs/{admin,kernel-nic}.md usr/bin/nicbarr usr/bin/myrd usr/include/myr/myr.h usr/share/man/man1/nicbarr.1.gz usr/share/man/man7/nicbarr.7.gz usr/share/man/man8/myrd.8.gz; do
    grep -qx "./$file" with
    verdict $? "there is /$file"
done
grep -qE '/systemd/user/myrd\.service$' with && grep -qE '/systemd/system/myrd-kernel\.service$' with
verdict $? "there are both services"
! grep -E '^\./etc/systemd/.*myrd' with
verdict $? "none of them is switched on"
grep -qs 'stop.*myrd-kernel\.service' "$root/var/lib/dpkg/info/myrd.prerm"
verdict $? "and what runs is stopped before the package goes"

# ---- use
version=$(cat "$top/VERSION")
as_user nicbarr --version
works "nicbarr --version" "^nicbarr $version$"
bench() { # MPIRUN-OPTION...: runs a job of 2 processes with hundreds of barriers
    as_user mpirun -np 2 --oversubscribe --mca coll_nicbarr_verbose 1 "$@" nicbarr_bench --chunks 20 -x 100
}
bench --mca coll_nicbarr_report report.json
[ "$status" = 0 ] && grep -q 'nicbarr: MPI_Barrier on .*, 2 processes on one node: ' err
verdict $? "plain mpirun has nicbarr choose a barrier"
as_user nicbarr report report.json
works "its report says what it measured" '^[ >]*pairwise' '^[ >]*openmpi'
bench --mca coll_nicbarr_algorithm dissemination:2 # forced, so that the result does not depend on measurements
[ "$status" = 0 ] && grep -q 'nicbarr: MPI_Barrier on .*, 2 processes on one node: dissemination' err
verdict $? "and it plays the one that is asked for"
as_user mpirun -np 2 --oversubscribe --mca pml ob1 --mca btl myr,self nicbarr_p2p --chunks 20
[ "$status" = 0 ]
verdict $? "messages go by btl/myr"
as_user mpirun -np 2 --oversubscribe --mca pml cm --mca mtl myr nicbarr_p2p --chunks 20
[ "$status" = 0 ]
verdict $? "and by mtl/myr"
as_user nicbarr status
works "nicbarr status without a job" .
as_user 'myrd --foreground 2> myrd.log & myrd=$!
    tries=0
    until nicbarr status | grep -q "myrd.*$myrd\|$myrd.*myrd" || [ $tries = 100 ]; do tries=$((tries + 1)); sleep 0.1; done
    nicbarr status; kill $myrd; wait $myrd'
works "nicbarr status shows the daemon" 'myrd'
as_user nicsim barrier --nodes 8
works "nicsim finds its machines" 'us'
as_user nicbarr evaluate --help
works "and nicbarr its scripts" '^Usage: nicbarr evaluate'

as_user 'cc /usr/share/doc/libmyr-dev/examples/example.c $(pkg-config --cflags --libs myr) -o example'
works "the example of libmyr is built"
as_user ./example
works "and runs" '^process 0 did 1000 barriers$'

# ---- remove
inside bash -c "apt-get purge -y -qq $ours"
verdict $status "they are removed"
files > after
diff before after > out 2> err
verdict $? "nothing is left"
as_user mpirun -np 2 --oversubscribe hostname
works "mpirun works as before" .
as_user ompi_info
[ "$status" = 0 ] && ! grep -E 'nicbarr|myr' out
verdict $? "Open MPI knows nothing of it"

finish
