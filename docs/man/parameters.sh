#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Print nicbarr(7), the man page of all MCA parameters, with the texts that Open MPI's ompi_info prints for the
# components that were just built. Called by make:
#
#     docs/man/parameters.sh OMPI_INFO BUILD-DIRECTORY VERSION DATE
set -eu
ompi_info=$1 build=$2 version=$3 date=$4

# The components only: beside them are object files, which Open MPI would try to load and complain about.
components=$(mktemp -d)
trap 'rm -rf "$components"' EXIT
ln -s "$build"/*/.libs/mca_*.so "$components"

# Neither the environment nor the user's files may change the defaults. (5.0 makes PMIx look for its components in
# the same path, and complain, unless PMIx has its own.)
list() { # the items of its parameters
    env -i PATH="$PATH" HOME=/nonexistent PMIX_MCA_mca_base_component_path=: \
        OMPI_MCA_mca_base_param_files=none OMPI_MCA_mca_base_component_path="$components:SYSTEM_DEFAULT" \
        "$ompi_info" --param "$1" "$2" --level 9 --parsable |
        awk -v component="mca:$1:$2:param:" '
            function roff(text) { # escapes requests
                gsub(/\\/, "\\e", text)
                gsub(/-/, "\\-", text)
                return text
            }
            index($0, component) == 1 { # mca:coll:nicbarr:param:NAME:WHAT:TEXT
                rest = substr($0, length(component) + 1)
                name = substr(rest, 1, index(rest, ":") - 1)
                rest = substr(rest, length(name) + 2)
                what = substr(rest, 1, index(rest, ":") - 1)
                of[what] = substr(rest, length(what) + 2)
                if (what == "source" && of[what] != "default") exit 1
                if (what == "disabled") { # the last line about a parameter
                    count++
                    value = of["value"] == "" ? "empty" : of["value"]
                    printf ".TP\n\\fB%s\\fR (%s, default %s, level %s)\n\\&%s.\n", roff(name), of["type"],
                        roff(value), of["level"], roff(of["help"] ~ /\.$/ ? substr(of["help"], 1, length(of["help"]) - 1) : of["help"])
                }
            }
            END { exit count == 0 }' || {
        echo "parameters.sh: $ompi_info lists no parameters of $build/$1_$2" >&2
        return 1
    }
}
coll=$(list coll nicbarr)
btl=$(list btl myr)
mtl=$(list mtl myr)

cat << END
.TH NICBARR 7 "$date" "nicbarr $version" "Open MPI components"
.SH NAME
nicbarr \- MPI_Barrier and small collectives for Open MPI, chosen by measurement
.SH SYNOPSIS
\fBmpirun\fR [\fB\-\-mca coll_nicbarr_\fINAME VALUE\fR]... \fIPROGRAM\fR
.PP
\fBmpirun \-\-mca coll ^nicbarr\fR \fIPROGRAM\fR (without it)
.PP
\fBmpirun \-\-mca pml ob1 \-\-mca btl myr,self\fR \fIPROGRAM\fR (also transfers messages over the NIC)
.PP
\fBmpirun \-\-mca pml cm \-\-mca mtl myr\fR \fIPROGRAM\fR (and also matches messages)
.SH DESCRIPTION
Open MPI loads the component coll/nicbarr by itself.
During the first barriers of a communicator it measures several algorithms, including the function
of Open MPI, and from then on uses the fastest.
It does the same for MPI_Allreduce, MPI_Allgather, MPI_Bcast, MPI_Scatter, MPI_Reduce and MPI_Gather
with small payloads.
On one node, processes synchronize in shared memory.
Across nodes, NICs execute the collectives: the soft NIC over UDP, the kernel NIC if
\fBmyrd \-\-kernel\fR runs on all nodes, or RDMA cards.
.PP
A parameter is set by \fB\-\-mca\fR \fINAME VALUE\fR of mpirun, by the environment
(\fBOMPI_MCA_\fINAME\fB=\fIVALUE\fR), or in a file (see \fBFILES\fR).
\fBompi_info \-\-param coll nicbarr \-\-level 9\fR lists the same parameters.
.SH PARAMETERS OF COLL/NICBARR
$coll
.SH PARAMETERS OF BTL/MYR
$btl
.SH PARAMETERS OF MTL/MYR
$mtl
.SH PERFORMANCE VARIABLES
The tools interface of MPI (MPI_T_pvar_...) provides the counters of each kind of NIC
(\fBcoll_nicbarr_soft_packets_sent\fR and the like; \fBnicbarr status \-\-counters\fR explains them),
and how often choices were re-evaluated and replaced (\fBcoll_nicbarr_comparisons\fR,
\fBcoll_nicbarr_switches\fR, \fBcoll_nicbarr_remeasured\fR, \fBcoll_nicbarr_remeasured_switches\fR).
For mtl/myr it provides the number of messages that this process has sent eagerly, in a shared buffer, or
by rendezvous (\fBmtl_myr_eager\fR, \fBmtl_myr_stored\fR, \fBmtl_myr_offered\fR), and their bytes
(\fBmtl_myr_bytes_sent\fR), of messages that had to wait for buffers or credits (\fBmtl_myr_delayed\fR), and
of those that arrived before a matching receive was posted (\fBmtl_myr_unexpected\fR), and the bytes that the
progress thread has transferred (\fBmtl_myr_runner_bytes\fR).
.SH FILES
.TP
.I ~/.openmpi/mca\-params.conf
Parameters of the user, one a line: \fINAME\fR = \fIVALUE\fR.
Open MPI has a file openmpi\-mca\-params.conf for all users.
.TP
.I ~/.cache/nicbarr/tuning.jsonl
Measurements, which later jobs use (coll_nicbarr_cache).
.SH SEE ALSO
.BR nicbarr (1),
.BR nicbarr_bench (1),
.BR myrd (8),
.BR mpirun (1)
END
