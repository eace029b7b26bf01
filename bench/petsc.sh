#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr with Open MPI over TCP in an unmodified program: conjugate gradients in an example
# of PETSc (ksp/ksp/tutorials/ex2.c, a 2-D Laplacian), across hosts (network namespaces of this
# machine):
#
#     bench/petsc.sh [--nic KIND] [--jobs N] [--size N] [HOSTSxPER-HOST...]     # default: kernel, 2x1 4x1 8x1
#
# Jobs with and without nicbarr alternate. The times are those that PETSc reports for the slowest process
# (-log_view): of the whole solve, and of the reductions (dot products and norms) in it. The script prints medians
# and quartiles in milliseconds. The solver cg performs two or three reductions per iteration, and pipecg one, which
# it overlaps with computation by MPI_Iallreduce. With nicbarr the residuals of all iterations must be the same in
# all jobs, which the script checks. KIND is soft or kernel (needs root). The script requires Debian's
# libpetsc-real-dev and libpetsc3.18-dev-examples, and measures what ./setup.sh has built, or the components of the
# environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

nic=kernel jobs=11 size=100 layouts=() hosts=()
while [ $# -gt 0 ]; do
    case $1 in
        --nic | --jobs | --size)
            [ $# -ge 2 ] || usage
            [ "$1" = --nic ] && nic=$2
            [ "$1" = --jobs ] && jobs=$2
            [ "$1" = --size ] && size=$2
            shift ;;
        [0-9]*x[0-9]*) layouts+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1 8x1)
[ "$nic" = soft ] || hosts=(--kernel)
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
source=$(find /usr/share/petsc -path '*/examples/src/ksp/ksp/tutorials/ex2.c' 2> /dev/null | head -n 1)
if [ -z "$source" ] || ! pkg-config --exists PETSc; then
    echo "petsc.sh: PETSc is not installed; apt install libpetsc-real-dev libpetsc3.18-dev-examples" >&2
    exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2046 # words
mpicc -O2 -w "$source" -o "$scratch/ex2" $(pkg-config --cflags --libs PETSc)
export scratch nic jobs size
# For each layout and solver, a first job measures the algorithms. The jobs that are compared use its results.
export OMPI_MCA_coll_nicbarr_cache=$scratch/cache OMPI_MCA_coll_nicbarr_tune_share=100

# Runs a job. Its output is written into $scratch/out; its times (of the solve and of the reductions) and a
# digest of its residuals are appended to files of its side.
job() { # SIDE SOLVER MPIRUN-OPTION...
    local side=$1 solver=$2
    shift 2
    "$NETHOSTS_MPIRUN" "$@" "$scratch/ex2" -m "$size" -n "$size" -ksp_type "$solver" -pc_type jacobi \
        -ksp_rtol 1e-10 -ksp_monitor -log_view > "$scratch/out" 2> "$scratch/err" ||
        { cat "$scratch/err" >&2; return 1; }
    awk '$1 == "KSPSolve" { print 1e3 * $4 }' "$scratch/out" >> "$scratch/$side.whole"
    awk '$1 ~ /^(VecTDot|VecDot|VecNorm|VecReduceComm|VecReduceEnd)$/ { sum += 1e3 * $4 } END { print sum }' \
        "$scratch/out" >> "$scratch/$side.reductions"
    grep 'KSP Residual norm' "$scratch/out" | md5sum >> "$scratch/$side.residuals"
}

# Prints the median and the quartiles of a file of numbers.
quartiles() {
    sort -g "$1" | awk '{ v[NR] = $1 } END { printf "%.2f (%.2f to %.2f)", v[int((NR + 1) / 2)],
        v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
}
ratio() { # WHAT: prints the ratios of Open MPI's times to nicbarr's, job by job
    paste "$scratch/openmpi.$1" "$scratch/nicbarr.$1" | awk '{ print $1 / $2 }' > "$scratch/ratio"
    quartiles "$scratch/ratio"
}

layout() { # HOSTSxPER-HOST
    export NETHOSTS_HOSTS=${1%x*} NETHOSTS_PER_HOST=${1#*x}
    for solver in cg pipecg; do
        rm -f "$scratch"/{nicbarr,openmpi}.*
        job first $solver --mca coll_nicbarr_nic "$nic" # measures
        for _ in $(seq "$jobs"); do
            job nicbarr $solver --mca coll_nicbarr_nic "$nic"
            job openmpi $solver --mca coll ^nicbarr
        done
        same=yes
        [ "$(sort -u "$scratch/nicbarr.residuals" | wc -l)" = 1 ] || same=no
        for what in reductions whole; do
            printf '%10s  %-7s %-11s %-26s %-26s %-24s %s\n' "$1" $solver $what \
                "$(quartiles "$scratch/nicbarr.$what")" "$(quartiles "$scratch/openmpi.$what")" "$(ratio $what)" $same
        done
    done
}
export -f job quartiles ratio layout

printf '%10s  %-7s %-11s %-26s %-26s %-24s %s\n' hosts solver what "nicbarr (ms)" "Open MPI (ms)" "times faster" "same bits"
most=0
for each in "${layouts[@]}"; do
    most=$((${each%x*} > most ? ${each%x*} : most))
done
# shellcheck disable=SC2016 # expanded inside
"$top/testbeds/hosts/nethosts" --shell ${hosts[@]+"${hosts[@]}"} "$most" \
    bash -euc 'for each in "$@"; do layout "$each"; done' bash "${layouts[@]}"
