#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Implements `nicsim report`. Separate processes of nicsim, several at a time, simulate the papers' measurements, the
# scaling study of every machine, and the evaluation of the MPI paper. Then the script writes a page with plots, tables
# and raw data (bench/report/page.sh).
#
# nicsim sets NICSIM to its own path, and NICSIM_DATA to the directory with the machines and the papers' values. The
# tables on the page are derived here from those that nicsim writes. The script only overwrites a directory that
# contains the log of an earlier report. usage() lists the options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
plots=$here/plots
nicsim=${NICSIM-nicsim} data=${NICSIM_DATA-}
log_name=simulation.log
known=(lanai43 lanai72 npii bluefield ethernet infiniband)
evaluated='lanai43 lanai72' # by the MPI paper
command_name='nicsim report'
# shellcheck source=bench/report/command.sh
. "$here/../report/command.sh"
# shellcheck source=bench/report/page.sh
. "$here/../report/page.sh"
# shellcheck source=bench/report/papers.sh
. "$here/../report/papers.sh"

usage() {
    cat << END
Usage: nicsim report [OPTION...]
Simulates barriers on several machines, executed by their NICs and by hosts,
and writes a page with plots, tables and raw data: the papers' measurements
beside the simulator's, latency and memory against the number of nodes,
broadcasts, messages that NICs match, and the papers' evaluation of MPI.

  --nodes MOST       up to MOST nodes, 4 to 65536 (default 1024, which takes
                     half a minute on two processors; 4096 take four minutes,
                     65536 hours and some GiB per job)
  --machine LIST     only these machines, such as lanai43,ethernet (default: all
                     of ${known[*]})
  --output DIR       directory of the page (default nicsim-report)
  --force            even if DIR has files that are not a report's
  --jobs N           simulations at a time (default: the number of processors)
  --data DIRECTORY      machines and measurements instead of the installed ones
  --help             this text
  --version          the version
END
}

# ---- the command line
most=1024 machines=("${known[@]}") output=nicsim-report force=no jobs=$(nproc)
arguments=$*
while [ $# -gt 0 ]; do
    option=$1
    case $option in
        --nodes | --machine | --output | --jobs | --data)
            [ $# -ge 2 ] || bad "$option needs a value"
            shift ;;
    esac
    case $option in
        --nodes) number "$1" 4 65536 "$option"; most=$1 ;;
        --jobs) number "$1" 1 1000 "$option"; jobs=$1 ;;
        --machine) IFS=, read -ra machines <<< "$1"; [ ${#machines[@]} -gt 0 ] || bad "--machine needs machines" ;;
        --data) data=$1 ;;
        --output) output=$1 ;;
        --force) force=yes ;;
        --help) usage; exit 0 ;;
        --version) tell_version; exit 0 ;;
        *) bad "unknown argument '$option'" ;;
    esac
    shift
done
for machine in "${machines[@]}"; do
    if ! [[ $machine =~ ^[A-Za-z0-9_]+$ ]] || [ ! -e "$data/machines/$machine.json" ]; then
        bad "there is no machine '$machine' in '$data'"
    fi
    [[ " ${machines[*]} " != *" $machine "*" $machine "* ]] || bad "--machine has '$machine' twice"
done
need gnuplot:gnuplot-nox awk:mawk
may_write "$output" "$log_name" $force "a report's"
if [ -e "$output/$log_name" ]; then # files of an earlier report could be mistaken for files of this one
    for machine in "${known[@]}" "${machines[@]}"; do
        rm -f -- "$output/$machine"/{scale,latency,optimum,lop,formula,bcast_bytes,bcast_nodes,message_bytes,message_nodes}.csv \
            "$output/$machine"/{latency,factor,optimum,lop,formula}.{svg,pdf} \
            "$output/$machine"/{bcast_bytes,bcast_root,bcast_nodes,message_bytes,message_nodes}.{svg,pdf} \
            "$output/$machine/mpi"/{latency,granularity,efficiency,arrival,applications}.csv \
            "$output/$machine/mpi"/{latency,granularity,efficiency,arrival,difference,applications}.{svg,pdf}
        rmdir -- "$output/$machine/mpi" "$output/$machine" 2> /dev/null
    done
    rm -f -- "$output/index.html" "$output"/{figures,conclusions,memory,factors,machines,groups,packets,ports}.csv \
        "$output"/{figures,errors,factors,groups,packets,ports}.{svg,pdf}
fi
data=$(cd -- "$data" && pwd) || exit 1
output=$(begin_dir "$output" "$log_name") || exit 1
cd -- "$output" || exit 1
log=$output/$log_name

# ---- the simulations, longest first Zhang's machine was only measured with MPI, so the
# parameters of its hosts contain the overhead of MPI.
declare -A level=([npii]=--mpi)
declare -A commands=() why=() started_at=()
runs=()
add() { # NAME ARGUMENT...
    local run=$1
    shift
    runs+=("$run")
    commands[$run]=$*
}
is_evaluated() { [[ " $evaluated " = *" $1 "* ]]; }
for machine in "${machines[@]}"; do
    mkdir -p "$output/$machine"
    add "$machine" scale --machine "$machine" --nodes "$most" --csv "$machine/scale.csv" ${level[$machine]+"${level[$machine]}"}
    if is_evaluated "$machine"; then
        mkdir -p "$output/$machine/mpi"
        add "$machine/mpi" evaluate --machine "$machine" --csv-dir "$machine/mpi"
    fi
done
for machine in "${machines[@]}"; do
    add "$machine/bcast" broadcasts --machine "$machine" --csv-dir "$machine"
    add "$machine/messages" messages --machine "$machine" --csv-dir "$machine"
done
add figures table --csv figures.csv --conclusions conclusions.csv
add memory memory --nodes "$most" --csv memory.csv

said() { echo "$output/.${1//\//-}.said"; }
declare -A running=() # names of simulations, by pid
interrupted() {
    [ ${#running[@]} = 0 ] || { kill "${!running[@]}"; wait; } 2> /dev/null
    rm -f "$output"/.*.said
    echo
    fail "interrupted; there is no page, but the results until then are in $output" 130
}
trap interrupted INT TERM

# Waits until a simulation ends. If it has failed, why[NAME] is the reason.
n=0
finish() {
    local ended status run
    wait -n -p ended "${!running[@]}"
    status=$?
    run=${running[$ended]}
    unset "running[$ended]"
    n=$((n + 1))
    { printf '\n$ nicsim %s\n' "${commands[$run]}"; cat "$(said "$run")"; echo "status $status"; } >> "$log"
    printf '%3d of %d  %-16s %3d s' $n ${#runs[@]} "$run" $((SECONDS - started_at[$run]))
    if [ $status != 0 ]; then
        why[$run]="status $status: $(grep '^nicsim: ' "$(said "$run")" | tail -n 1 | grep . || echo 'the results are not as expected')"
        printf ', FAILED: %s' "${why[$run]}"
    fi
    echo
}
started=$SECONDS
date=$(date '+%Y-%m-%d %H:%M:%S %Z')
echo "nicsim report $arguments, $date" >> "$log"
echo "${#runs[@]} simulations, $jobs at a time"
for run in "${runs[@]}"; do
    while [ ${#running[@]} -ge "$jobs" ]; do
        finish
    done
    started_at[$run]=$SECONDS
    # shellcheck disable=SC2086 # words
    "$nicsim" ${commands[$run]} --data "$data" > "$(said "$run")" 2>&1 < /dev/null &
    running[$!]=$run
done
while [ ${#running[@]} -gt 0 ]; do
    finish
done
failures=${#why[@]}

# ---- tables made from tables The beginning of awk programs that read the scale.csv of a machine. The column
# `player` is "nics" or "hosts". For each number of nodes and player, us[] and parameter[] contain the time and the
# parameter of the best algorithm of each family, and best[] and by[] those of the best algorithm of all. If times
# differ by less than a thousandth of a microsecond, the first algorithm is chosen.
scale_functions='
    BEGIN { FS = OFS = "," ; split("pairwise dissemination tree", families, " ") }
    function ratio_percent(a, b) { return sprintf("%.2f", 100 * (a / b - 1)) }
    FNR == 1 { next }
    {
        name = $1; nodes = $2; player = $4
        if (nodes != last) { list[++lists] = last = nodes }
        split($3, part, ":")
        family = part[1]
        row[nodes, player, $3] = $5
        model[nodes, player, $3] = $8
        closed[nodes, player] = family == "pairwise" ? $9 : closed[nodes, player]
        if (!((nodes, player, family) in us) || $5 < us[nodes, player, family] - 0.001) {
            us[nodes, player, family] = $5
            parameter[nodes, player, family] = part[2]
        }
        if (!((nodes, player) in best) || $5 < best[nodes, player] - 0.001) {
            best[nodes, player] = $5
            by[nodes, player] = $3
        }
    }'
from_scale() { # PROGRAM CSV VARIABLE=VALUE...
    awk "$scale_functions $1" "${@:3}" "$2"
}
tabulate() { # MACHINE
    local dir=$output/$1
    from_scale 'END {
        print "nodes", "nic_pairwise_us", "nic_dissemination_us", "nic_tree_us", "nic_best", "host_pairwise_us",
            "host_dissemination_us", "host_tree_us", "host_best", "factor"
        for (i = 1; i <= lists; i++) {
            n = list[i]
            print n, us[n, "nics", "pairwise"], us[n, "nics", "dissemination"], us[n, "nics", "tree"], by[n, "nics"],
                us[n, "hosts", "pairwise"], us[n, "hosts", "dissemination"], us[n, "hosts", "tree"], by[n, "hosts"],
                sprintf("%.4f", best[n, "hosts"] / best[n, "nics"])
        }
    }' "$dir/scale.csv" > "$dir/latency.csv"
    from_scale 'END {
        print "nodes", "nic_n", "host_n", "nic_degree", "host_degree"
        for (i = 1; i <= lists; i++) {
            n = list[i]
            print n, parameter[n, "nics", "dissemination"], parameter[n, "hosts", "dissemination"],
                parameter[n, "nics", "tree"], parameter[n, "hosts", "tree"]
        }
    }' "$dir/scale.csv" > "$dir/optimum.csv"
    from_scale 'END {
        ways = split("1 2 4 8", way, " ")
        printf "nodes"
        for (w = 1; w <= ways; w++) printf ",n%d_us,n%d_lop_us,n%d_error_percent", way[w], way[w], way[w]
        print ""
        for (i = 1; i <= lists; i++) {
            n = list[i]
            printf "%s", n
            for (w = 1; w <= ways; w++) {
                it = row[n, "hosts", "dissemination:" way[w]]
                lop = model[n, "hosts", "dissemination:" way[w]]
                printf ",%s", lop == "" ? "nan,nan,nan" : it "," lop "," ratio_percent(lop, it)
            }
            print ""
        }
    }' "$dir/scale.csv" > "$dir/lop.csv"
    from_scale 'END {
        print "nodes", "nic_us", "nic_formula_us", "nic_error_percent", "host_us", "host_formula_us", "host_error_percent"
        for (i = 1; i <= lists; i++) {
            n = list[i]
            a = us[n, "nics", "pairwise"]
            b = us[n, "hosts", "pairwise"]
            print n, a, closed[n, "nics"], ratio_percent(closed[n, "nics"], a),
                b, closed[n, "hosts"], ratio_percent(closed[n, "hosts"], b)
        }
    }' "$dir/scale.csv" > "$dir/formula.csv"
}

# Prints a header and a summary line for a machine. The columns `from` and `trees_from` are the smallest numbers
# of nodes from which on NICs are always faster.
in_short() { # MACHINE
    from_scale '
        function wins_from(list_of_nics, list_of_hosts,   i, from) {
            from = "never"
            for (i = lists; i >= 1 && list_of_nics[list[i]] < list_of_hosts[list[i]]; i--) from = list[i]
            return from
        }
        END {
            few = most < 16 ? list[lists] : 16
            n = list[lists]
            for (i = 1; i <= lists; i++) {
                m = list[i]
                nics[m] = best[m, "nics"]; hosts[m] = best[m, "hosts"]
                nic_trees[m] = us[m, "nics", "tree"]; host_trees[m] = us[m, "hosts", "tree"]
                top = hosts[m] / nics[m] > factor ? m : top
                factor = hosts[m] / nics[m] > factor ? hosts[m] / nics[m] : factor
            }
            print "machine", "from", "trees_from", "nic_us", "nic_best", "host_us", "host_best", "factor_16", "factor",
                "factor_most", "at"
            print machine, wins_from(nics, hosts), wins_from(nic_trees, host_trees), nics[n], by[n, "nics"], hosts[n],
                by[n, "hosts"], sprintf("%.3f", hosts[few] / nics[few]), sprintf("%.3f", hosts[n] / nics[n]),
                sprintf("%.3f", factor), top
        }' "$output/$1/scale.csv" machine="$1" most="$most"
}
# Prints the column of a machine for a table of several machines.
factor_of() { # MACHINE
    echo "$1"
    tail -n +2 "$output/$1/latency.csv" | cut -d , -f 10
}
# Prints one quantity of a scale.csv, with a line per number of nodes and a column per algorithm.
pivot() { # CSV COLUMN PLAYER ALGORITHM...
    local csv=$1 column=$2 player=$3
    shift 3
    awk -F , -v column="$column" -v player="$player" -v algorithms="$*" '
        BEGIN {
            count = split(algorithms, algorithm, " ")
            head = "nodes"
            for (i = 1; i <= count; i++) head = head "," player "_" algorithm[i]
            print head
        }
        $4 != player { next }
        $2 != nodes { if (nodes) end(); nodes = $2 }
        { value[$3] = $column }
        function end(   i) {
            printf "%s", nodes
            for (i = 1; i <= count; i++) printf ",%s", value[algorithm[i]]
            print ""
        }
        END { end() }' "$csv"
}

paste_columns() { # FIRST SECOND: appends the columns of SECOND, except its first column
    paste -d , "$1" <(cut -d , -f 2- "$2")
}

# The machines whose simulation succeeded.
simulated=()
for machine in "${machines[@]}"; do
    [ -n "${why[$machine]-}" ] || simulated+=("$machine")
done
for machine in "${simulated[@]}"; do
    tabulate "$machine"
done
if [ ${#simulated[@]} -gt 0 ]; then
    for machine in "${simulated[@]}"; do
        in_short "$machine"
    done | awk 'NR == 1 || !/^machine,/' > machines.csv
    first=${simulated[0]}
    cut -d , -f 1 "$first/latency.csv" > factors.csv
    for machine in "${simulated[@]}"; do
        paste -d , factors.csv <(factor_of "$machine") > .factors.said && mv .factors.said factors.csv
    done
    # The memory of groups and the numbers of packets are the same on all machines.
    pivot "$first/scale.csv" 7 nics pairwise dissemination:2 dissemination:4 dissemination:8 \
        tree:2 tree:4 tree:8 tree:16 tree:32 | sed 's/nics_//g' > groups.csv
    kinds='pairwise dissemination:2 dissemination:8 tree:4'
    # shellcheck disable=SC2086 # words
    paste_columns <(pivot "$first/scale.csv" 6 nics $kinds) <(pivot "$first/scale.csv" 6 hosts $kinds) > packets.csv
fi
if [ ${#simulated[@]} -gt 0 ] && [ -z "${why[memory]-}" ]; then
    # In NIC-based barriers, the NIC holds the group. In host-based barriers, it holds connections, which all
    # have the same size, and the rings of a port.
    one=$(awk -F , '/^NIC without/ { none = $3 } /^NIC with connections/ { print ($3 - none) / $2; exit }' memory.csv)
    awk -F , -v one="$one" '
        BEGIN {
            count = split("pairwise dissemination:4 tree:8", algorithm, " ")
            head = "nodes"
            for (i = 1; i <= count; i++)
                head = head ",group_" algorithm[i] ",connections_" algorithm[i] ",port_" algorithm[i]
            print head
        }
        function end(   i) {
            printf "%s", nodes
            for (i = 1; i <= count; i++)
                printf ",%s,%s,%s", group[algorithm[i]], one * connections[algorithm[i]], port[algorithm[i]]
            print ""
        }
        FNR == 1 { next }
        $2 != nodes { if (nodes) end(); nodes = $2 }
        $4 == "nics" { group[$3] = $7 }
        $4 == "hosts" { connections[$3] = $10; port[$3] = $11 }
        END { end() }' "$first/scale.csv" > ports.csv
fi

# ---- the page
facts() {
    local model
    model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    printf '%s\t%s\n' "Date" "$date, took $(clock $((SECONDS - started))) minutes" \
        "Processor" "${model:-$(uname -m)}, $jobs simulations at a time" \
        "Seed" "1" \
        "nicbarr" "${NICBARR_VERSION:-unknown}" \
        "Command" "nicsim report${arguments:+ $arguments}"
}
plot() { # NAME SCRIPT CAPTION CSV...
    page_plot "$1" "$plots/$2.gp" "${@:3}" || failures=$((failures + 1))
}
failed() { # RUN WHAT: if the run has failed, adds a line to the page and returns 0
    [ -n "${why[$1]-}" ] || return 1
    page_failure "$2 failed: ${why[$1]}"
}
# Prints the description of a machine from its file.
about() { # MACHINE
    sed -n 's/^ *"about": *"\(.*\)",$/\1/p' "$data/machines/$1.json"
}
# Replaces the names of values by words: barrier:LANai4.3:gm:PE:16:nic_us becomes "barrier; LANai 4.3;
# GM; pairwise exchange; 16 nodes; NICs".
named_figures() {
    awk -F , -v OFS=, '
        function who(text) {
            if (text == "overhead_us" || text == "latency_us") return ""
            if (text == "open_us") return "; MPI_ANY_SOURCE"
            if (text == "named_us") return "; named source"
            if (text == "factor") return "; factor of improvement"
            return (text ~ /^host/ ? "; hosts" : "; NICs") (text ~ /case2/ ? " (case 2)" : "")
        }
        BEGIN {
            way["PE"] = "pairwise exchange"; way["GB"] = "gather-broadcast"; way["GB-binary"] = "binary gather-broadcast"
            level["gm"] = "GM"; level["mpi"] = "MPI"
        }
        NR > 1 {
            n = split($1, is, ":")
            nic = is[2]; sub(/LANai/, "LANai ", nic)
            if (is[1] == "barrier") name = "barrier; " nic "; " level[is[3]] "; " way[is[4]] "; " is[5] " nodes"
            else if (is[1] == "bcast") name = "broadcast; " nic "; " is[3] " bytes; " is[4] " nodes"
            else if (is[1] == "root") name = "root of a broadcast; " nic "; " is[3] " bytes; " is[4] " nodes"
            else if (is[1] == "create") name = "MPI_Comm_create; " nic "; " is[3] " nodes"
            else if (is[1] == "granularity") name = "loop of efficiency " is[3] "; " nic "; " is[4] " nodes"
            else if (is[1] == "overhead") name = "overhead of MPI; " nic "; " is[3] " nodes"
            else if (is[1] == "waiting")
                name = "receive of a message that waits; " nic "; channels of " is[3] "; " is[4] " nodes"
            else if (is[1] == "unicast") name = "message; " nic "; " is[3] " bytes"
            else name = $1
            $1 = name (name == $1 ? "" : who(is[n]))
        }
        { print }' figures.csv
}
show_calibration() {
    page_section "The papers' figures"
    page_text "Every latency, factor and loop time that the papers state, and the simulator's result for it. Parameters \
were fitted to some of them; all others are predictions. The closed formulas are those of $buntinas_gm, with the same \
parameters. $(grep '^mean error' "$(said figures)" | sed 's/^mean/Mean/; s/$/./')"
    failed figures "The comparison" # (the page also shows the values of a failed comparison)
    [ -s figures.csv ] || return
    plot figures figures "Simulated against stated: the diagonal, and 10 % on either side" figures.csv
    plot errors errors "The same as errors" figures.csv
    named_figures > .named.said
    page_table .named.said paper="the paper" formula="closed formula"
    page_raw figures.csv
    page_subsection "The papers' conclusions"
    page_text "The papers' conclusions, checked on the simulated machines."
    awk -F , 'NR > 1 { print $2 "\t" $1 ($3 == "" ? "" : ": " $3) }' conclusions.csv | page_facts
    page_raw conclusions.csv
}
show_short() {
    page_section "In short"
    page_text "The best barrier of NICs compared with the best of hosts, on up to $most nodes of each machine: the \
number of nodes from which on NICs are faster, and from which on their trees are faster than hosts' trees; latency, \
algorithm and factor with the most nodes; the factor with 16 nodes; the greatest factor, and its number of nodes. \
BlueField, Ethernet and InfiniBand are scenarios: their parameters are assumed, and not measured."
    plot factors factors "How many times faster the best barrier of NICs is, over nodes" factors.csv
    page_table machines.csv from="NICs win from" trees_from="their trees from" nic="best of NICs" \
        nic_best="which is" host="best of hosts" host_best="which is" factor_16="factor at 16" factor_most="greatest"
    page_raw machines.csv factors.csv
}
show_machine() { # MACHINE
    page_section "Machine $1"
    page_text "$(about "$1")" "Barriers $([ -n "${level[$1]-}" ] && echo "at the level of MPI" ||
        echo "of messages without MPI (the level of GM)"), one process per node. The best of each family: pairwise \
exchange; dissemination with n partners per round, 1 to 8; trees of degree 2 to 32."
    ! failed "$1" "The simulation" || return
    plot "$1/latency" latency "Latency over nodes" "$1/latency.csv"
    plot "$1/factor" factor "How many times faster NICs are, family by family" "$1/latency.csv"
    page_table "$1/latency.csv" nic_pairwise="NICs: pairwise" \
        nic_dissemination="NICs: dissemination" nic_tree="NICs: tree" nic_best="their best" \
        host_pairwise="hosts: pairwise" host_dissemination="hosts: dissemination" host_tree="hosts: tree" \
        host_best="their best"
    page_subsection "Optimal n and degree, $1"
    page_text "The n of dissemination and the degree of trees that are fastest; the smaller one if two are equally fast."
    plot "$1/optimum" optimum "Optimal n and degree over nodes" "$1/optimum.csv"
    page_table "$1/optimum.csv" nic_n="n, NICs" host_n="n, hosts" nic_degree="degree, NICs" host_degree="degree, hosts"
    page_subsection "Models, $1"
    page_text "Left: n-way dissemination of hosts and Hoefler's LoP model, in which a round takes half the time of a 1:n \
n:1 ping-pong (which is simulated, too). Right: pairwise exchange and the closed formulas of $buntinas_gm \
(equations 1 and 2). Errors are those of the models. Both assume a single switch, and neglect that an MCP or a host may \
check every other node (npii)."
    plot "$1/lop" lop "The LoP model (lines) and simulated dissemination of hosts (points)" "$1/lop.csv"
    plot "$1/formula" formula "The closed formulas (lines) and simulated pairwise exchange (points)" "$1/formula.csv"
    page_table "$1/lop.csv" n1="n = 1" n1_lop=LoP n1_error=error n2="n = 2" n2_lop=LoP n2_error=error \
        n4="n = 4" n4_lop=LoP n4_error=error n8="n = 8" n8_lop=LoP n8_error=error
    page_table "$1/formula.csv" nic=NICs nic_formula=formula nic_error=error host=hosts host_formula=formula \
        host_error=error
    page_raw "$1/scale.csv" "$1"/{latency,optimum,lop,formula}.csv
}
show_broadcasts() { # MACHINE
    page_subsection "Broadcasts, $1"
    page_text "The measurements of MPI_Bcast of $zhang (section 4.4), simulated: the time until the root has a reply of \
the last of 8 nodes, minus the time of the shortest message between two; and the time of the root's call with 7 nodes \
and a message between two broadcasts. For longer messages the thesis uses another protocol."
    ! failed "$1/bcast" "The broadcasts" || return
    plot "$1/bcast_bytes" bcast_bytes "MPI_Bcast over bytes, 8 nodes (table 4.4)" "$1/bcast_bytes.csv"
    plot "$1/bcast_root" bcast_root "The root's call over bytes, 7 nodes (table 4.5)" "$1/bcast_bytes.csv"
    plot "$1/bcast_nodes" bcast_nodes "How many times faster NICs are, over nodes (figure 4.4)" "$1/bcast_nodes.csv"
    page_table "$1/bcast_bytes.csv" nic=NICs host=hosts nic_root="root's call, NICs" host_root="root's call, hosts"
    page_table "$1/bcast_nodes.csv" nic_64="NICs, 64 bytes" host_64="hosts, 64 bytes" nic_512="NICs, 512 bytes" \
        host_512="hosts, 512 bytes"
    page_raw "$1"/bcast_{bytes,nodes}.csv
}
show_messages() { # MACHINE
    page_subsection "Messages that NICs match, $1"
    page_text "The measurements of messages of $zhang (sections 4.1 and 4.2), simulated: half of a round trip; and the \
receive of a message that has arrived already, while all other slots of all channels to its node are occupied by \
messages that do not match. The thesis's NIC has a list for each channel, and compares every message in it if the \
source is given. nicbarr's NIC has one hash table, in which every lookup takes the same time (in the simulation, that \
of a lookup in the thesis's table for MPI_ANY_SOURCE)."
    ! failed "$1/messages" "The messages" || return
    plot "$1/message_bytes" message_bytes "A message over bytes (table 4.1)" "$1/message_bytes.csv"
    plot "$1/message_nodes" message_nodes "A receive over nodes, channels of 16 (figure 4.1)" "$1/message_nodes.csv"
    page_table "$1/message_bytes.csv" lists=lists table=table
    local width labels=()
    for width in 8 16; do
        labels+=("lists_open_$width=lists, any source, $width" "lists_named_$width=lists, named, $width"
            "table_open_$width=table, any source, $width" "table_named_$width=table, named, $width")
    done
    page_table "$1/message_nodes.csv" "${labels[@]}"
    page_raw "$1"/message_{bytes,nodes}.csv
}
show_memory() {
    page_section "Memory and messages"
    page_text "Bytes of the NIC's memory for a group whose barriers the NICs execute, the largest of all nodes' groups; and \
what barriers that the hosts execute need instead: a connection to each partner and the rings of a port, with tokens for \
a barrier and the next. On a LANai all of it would be SRAM. The second plot counts packets on the wire for a barrier of \
all nodes. Those of hosts include acknowledgements: separate ones if the next message to the same node is sent later \
than 200 µs, or after the last of the four barriers that are simulated."
    plot groups groups "Bytes of a group over nodes" groups.csv
    plot packets packets "Packets for a barrier over nodes" packets.csv
    page_table groups.csv
    page_table packets.csv "${packet_labels[@]}"
    page_raw groups.csv packets.csv
    ! failed memory "Memory" || return
    plot ports ports "Bytes of a NIC that executes barriers (group), and of one whose host does (connections and port)" ports.csv
    page_table ports.csv "${port_labels[@]}"
    page_text "Memory of a NIC with 16 ports by the number of connections, and of the rings of a port by the number of \
tokens of each kind."
    page_table memory.csv
    page_raw ports.csv memory.csv
}
packet_labels=() port_labels=()
for algorithm in pairwise dissemination:{1,2,4,8} tree:{2,4,8}; do
    packet_labels+=("nics_$algorithm=NICs: $algorithm" "hosts_$algorithm=hosts: $algorithm")
    port_labels+=("group_$algorithm=$algorithm: group" "connections_$algorithm=connections" "port_$algorithm=port")
done
show_evaluation() { # MACHINE
    local dir=$1/mpi
    page_section "The MPI paper's evaluation, $1"
    page_text "The measurements of $buntinas_mpi (section 4), simulated: MPI_Barrier by pairwise exchange, executed by \
NICs and by hosts. The paper had 16 nodes with LANai 4.3 and 8 with LANai 7.2; the simulation has 16 of both."
    ! failed "$dir" "The evaluation" || return
    plot "$dir/latency" mpi_latency "Every number of nodes (figure 5)" "$dir/latency.csv"
    plot "$dir/granularity" mpi_granularity "A loop of computing and a barrier, 8 nodes (figure 6)" \
        "$dir/granularity.csv"
    plot "$dir/efficiency" mpi_efficiency "The shortest loop for an efficiency (figure 7)" "$dir/efficiency.csv"
    plot "$dir/arrival" mpi_arrival "Computing that varies by 20 %, 16 nodes (figure 8)" "$dir/arrival.csv"
    plot "$dir/difference" mpi_difference "What NICs save in each loop, by variation (figure 9)" \
        "$dir/arrival.csv"
    plot "$dir/applications" mpi_applications "Factor of improvement of synthetic applications (figure 10)" \
        "$dir/applications.csv"
    local table labels=(nic=NICs host=hosts work=computing compute=computing difference=saved variation=variation
        nic_efficiency="efficiency with NICs" host_efficiency="with hosts")
    for percent in 25 50 75 90; do
        labels+=("nic_$percent=NICs 0.$percent" "host_$percent=hosts 0.$percent")
    done
    for table in latency efficiency applications; do
        page_table "$dir/$table.csv" "${labels[@]}"
    done
    page_raw "$dir"/{latency,granularity,efficiency,arrival,applications}.csv
}

page_begin "$output/index.html" "Simulated NIC-based barriers" \
    "nicbarr's firmware on simulated clusters: barriers of NICs against barriers of hosts"
page_section "What this is"
facts | page_facts
page_text "All results are those of simulations whose NICs run nicbarr's control program. They depend only on \
parameters and seed, and are therefore reproducible. Times are in microseconds, averaged over consecutive barriers." \
    "The machines' files (\`machines/NAME.json\`) contain their parameters, each with its source."
for run in "${runs[@]}"; do
    echo "nicsim ${commands[$run]}"
done | page_details "The commands that were run"
page_link "$log_name" "What they printed"
[ ${#simulated[@]} = 0 ] || show_short
show_calibration
for machine in "${machines[@]}"; do
    show_machine "$machine"
    show_broadcasts "$machine"
    show_messages "$machine"
done
[ ${#simulated[@]} = 0 ] || show_memory
for machine in "${machines[@]}"; do
    ! is_evaluated "$machine" || show_evaluation "$machine"
done
page_papers
rm -f "$output"/.*.said
page_end || fail "cannot write $output/index.html"
echo "The page: $output/index.html"
if [ "$failures" != 0 ]; then
    fail "$failures of the simulations and plots failed; the page gives the reasons"
fi
