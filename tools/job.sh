#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the job of `nicbarr doctor` (doctor_job.c), and ends it if it hangs: status 124.
#
#     job.sh SECONDS MPIRUN-ARGUMENT...
set -eu
limit=$1
shift
transports=${OMPI_MCA_btl-}
# shellcheck source=ompi/jobs.sh
. "$(dirname "$0")/../ompi/jobs.sh"
case " $* " in
    *" --host "*) # then the person's own transports, not what is best on one machine
        export OMPI_MCA_btl=$transports
        [ -n "$transports" ] || unset OMPI_MCA_btl ;;
esac
exec timeout --foreground -k 5 "$limit" mpirun "$@"
