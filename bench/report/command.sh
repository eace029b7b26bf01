# SPDX-License-Identifier: BSD-3-Clause
# Functions of the commands that are implemented by scripts (evaluate.sh, tune.sh, nicsim's report.sh,
# tools/trace.sh). To be sourced by bash, with command_name set to the name of the command in error messages.
#
#     fail TEXT [STATUS]                print a message, which should state what to do, and exit
#     bad TEXT                          the same after wrong arguments
#     number TEXT LEAST MOST NAME       bad() unless TEXT is a number in this range
#     need PROGRAM:PACKAGE...           fail() unless these programs exist
#     need_ours PROGRAM                 fail() unless this program of nicbarr and the component for Open MPI exist
#     may_write DIRECTORY LOG FORCE WHAT
#                                       fail() if the directory contains files, but no LOG of an earlier run of the
#                                       command, unless FORCE is yes. WHAT describes the expected files in the message
#     begin_dir DIRECTORY LOG           create the directory with an empty LOG, and print its absolute path
#     tell_version                      print name and version as programs do (script_run() has set NICBARR_VERSION)
#     run_begins                        set date and load_before at the beginning of a run
#     run_facts SECONDS                 print lines (NAME, tab, VALUE) about a run of that duration, the machine, and
#                                       its software
#     clock SECONDS                     print a duration as minutes and seconds
# shellcheck shell=bash
fail() { echo "$command_name: $1" >&2; exit "${2-1}"; }
bad() { fail "$1 (try --help)" 64; }

number() { # TEXT LEAST MOST NAME
    if ! [[ $1 =~ ^(0|[1-9][0-9]{0,8})$ ]] || [ "$1" -lt "$2" ] || [ "$1" -gt "$3" ]; then
        bad "$4 must be a number from $2 to $3, not '$1'"
    fi
}

need() { # PROGRAM:PACKAGE...
    local program
    for program; do
        command -v "${program%:*}" > /dev/null ||
            fail "there is no ${program%:*} in the PATH; on Debian: apt-get install ${program#*:}"
    done
}

need_ours() { # PROGRAM
    command -v "$1" > /dev/null ||
        fail "there is no $1 in the PATH; source env.sh of your nicbarr (PREFIX/share/nicbarr/env.sh)"
    [ -n "$(ompi_info --parsable --param coll nicbarr 2> /dev/null)" ] ||
        fail "Open MPI does not find the component nicbarr; source env.sh (PREFIX/share/nicbarr/env.sh)"
}

may_write() { # DIRECTORY LOG FORCE WHAT
    [ -e "$1" ] || return 0
    [ -d "$1" ] || fail "'$1' is not a directory"
    [ -e "$1/$2" ] || [ "$3" = yes ] || [ -z "$(ls -A -- "$1")" ] ||
        fail "'$1' has files that are not $4; choose another --output, or add --force"
}

begin_dir() { # DIRECTORY LOG
    { mkdir -p -- "$1" && cd -- "$1" && : > "$2" && pwd; } 2> /dev/null || fail "cannot write into '$1'"
}

tell_version() { echo "$command_name $NICBARR_VERSION"; }

run_begins() { date=$(date '+%Y-%m-%d %H:%M:%S %Z') load_before=$(cut -d ' ' -f 1-3 /proc/loadavg); }

run_facts() { # SECONDS
    local model version
    model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    version=$(mpirun --version | sed -n '1s/.*(Open MPI) *//p')
    printf '%s\t%s\n' "Date" "$date, took $(clock "$1") minutes" \
        "Load" "$load_before before, $(cut -d ' ' -f 1-3 /proc/loadavg) after (1, 5 and 15 minutes)" \
        "Host" "$(uname -n)" \
        "Processor" "${model:-$(uname -m)}, $(nproc) of them" \
        "Kernel" "$(uname -sr)" \
        "Open MPI" "${version:-unknown}" \
        "nicbarr" "${NICBARR_VERSION:-unknown}"
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }
