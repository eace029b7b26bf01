#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a job while the daemons of the kernel NIC on its hosts are killed and restarted, at random
# moments that depend only on the contents of the program's file. If NICBARR_KILLED is set, each
# kill adds a line to this file. playing.py calls this script.
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
    # The daemon is sometimes absent for so long that new groups cannot be set up with it.
    kill_daemon $host $((RANDOM % 10 == 0 ? 3 : 0)) || { echo "FAIL no daemon on host $host" && kill $job && exit 1; }
    [ -z "${NICBARR_KILLED-}" ] || echo "host $host" >> "$NICBARR_KILLED"
done
wait $job
