#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Play a job whose hosts' daemons of the kernel NIC are killed at moments that its program
# determines (playing.py). Each kill adds a line to the file NICBARR_KILLED, if that is set.
#
#     nethosts --kernel --shell HOSTS PER-HOST killing.sh MPIRUN-ARGUMENT... --program FILE ...
# shellcheck source=tests/programs/daemons.sh
. "$(dirname "$0")/daemons.sh"
myrd=${builddir:+$builddir/myrd/}myrd
for ((word = 1; word < $#; ++word)); do
    [ "${!word}" != --program ] || { next=$((word + 1)) && RANDOM=$(cksum < "${!next}" | cut -d ' ' -f 1); }
done
"$NETHOSTS_MPIRUN" "$@" &
job=$!
while sleep "0.0$((RANDOM % 100))" && kill -0 $job 2> /dev/null; do
    host=$((1 + RANDOM % NETHOSTS_HOSTS))
    # sometimes for so long that new groups are given up
    kill_daemon $host $((RANDOM % 10 == 0 ? 3 : 0)) || { echo "FAIL no daemon on host $host" && kill $job && exit 1; }
    [ -z "${NICBARR_KILLED-}" ] || echo "host $host" >> "$NICBARR_KILLED"
done
wait $job
