#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Start a process of a job with additional environment variables on one rank.
#
#     mpirun ... odd.sh [RANK NAME=VALUE]... -- PROGRAM [ARGUMENT...]
set -eu
while [ "$1" != -- ]; do
    [ "$1" != "${OMPI_COMM_WORLD_RANK-}" ] || export "${2?}"
    shift 2
done
shift
exec "$@"
