#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr report` gives users and scripts wrong output or unclear errors. The test passes it valid
# reports, arbitrary data, truncated files and wrong arguments.
#
# The expected values are those of the samples beside this script; nothing is measured.
#
# shellcheck disable=SC2016 # names such as $(...) in reports must not be expanded
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../../tests/tap.sh"
nicbarr=$build/tools/nicbarr

report() { # ARGUMENT...: status, out, err
    "$nicbarr" report "$@" >out 2>err </dev/null
    status=$?
}

refuses_bad() { # NAME PATTERN: bad.json is refused
    report bad.json
    refuses "$1" "$2"
}

changed() { # every_source.json with one change
    sed "$1" "$here/every_source.json"
}

# ---- good files

report "$here/every_source.json"
works "a report with every source" \
    '^    host +vm \(Intel' '^    versions +nicbarr 0\.1\.0, Open MPI 4\.1\.4$' \
    '18 communicators with a chosen barrier: 16 by nicbarr, 2 by Open MPI' \
    '2\.12 times faster than Open MPI: 2\.14 us instead of 4\.54 us' \
    'flags:4, measured on another communicator of the same shape in this job' \
    '12 communicators; the name is the first one' \
    'flags:4, measured by an earlier job' \
    '^\[4\] forced é ✓$' 'tree:3, set by the parameter coll_nicbarr_algorithm' \
    'flags:4, the default: not measured' \
    'because +process 5 is in another container' \
    'openmpi \(Open MPI.s own function\), measured on this communicator' \
    'none: nothing was clearly faster' \
    '^    >  flags:4 +2\.14 +2\.11 +2\.25 +2\.12 x +2\.39 +12  chosen$' \
    '^       openmpi +4\.54 .* 1\.00 x +- +12  Open MPI$' \
    'Open MPI, chosen$' 'bound to 2 sets of CPUs' '42\.1 ms of a budget of 50 ms'
awk 'length > 100 { wide = 1 } END { exit wide }' out
verdict $? "no line is longer than 100 columns"
awk '$NF ~ /^[0-9]+$|chosen|MPI/ && $1 ~ /^>|^[a-z]+(:[0-9]+)?$/ && / x / { print $(1 + ($1 == ">") + 1) }
     /^\[2\]/ { exit }' out >medians
sort -C -g medians && [ "$(wc -l <medians)" -eq 9 ]
verdict $? "candidates are in the order of their medians"

while read -r nic words; do
    changed "s/\"tree:3\"/\"tree:3@$nic\"/" >played.json
    report played.json
    works "an algorithm that the NIC $nic plays" "tree:3@$nic, set by the parameter" \
        "^    \.\.\.@$nic +executed by $words"
    [ "$(grep -c '^    \.\.\.@' out)" -eq 1 ]
    verdict $? "no other NIC is spoken of there"
done <<'END'
soft the soft NICs of the nodes$
kernel the kernels of the nodes
verbs processes, through the RDMA cards
END
changed 's/"tree:3"/"tree:3@"/' >bad.json
refuses_bad "an algorithm that nobody plays" 'not an algorithm'
report "$here/every_source.json"
grep -q '^    \.\.\.@' out
verdict $((1 - $?)) "without such a one no NIC is spoken of"

comparisons='"comparisons": 3, "switches": 1, "compared": [{"algorithm": "tree:3", "median_us": 2.5}, '
comparisons="$comparisons"'{"algorithm": "openmpi", "median_us": 0}, {"algorithm": "flags:4", "median_us": 12.25}]'
changed "s/\"choice\": \"tree:3\"/&, $comparisons/; s/\"parameter\"/\"comparison\"/" >comparisons.json
report comparisons.json
works "a choice that was challenged" 'tree:3, the winner of an A/B comparison in this communicator' \
    '^    challenged +in 3 A/B comparisons with other algorithms, replaced in 1 of them; in the last$' \
    '^ +one tree:3 2\.50 us, flags:4 12\.2 us; 1 clearly slower$'
for change in 's/"switches": 1/"x": 1/' 's/"comparisons": 3/"comparisons": 0/' 's/"compared": \[/&3, /' \
    's/"compared": \[.*\]/"compared": 3/' 's/12.25/-1/' 's/12.25}/2, "algorithm": "9"}/'; do
    sed "$change" comparisons.json >bad.json
    refuses_bad "comparisons after $change" 'communicators\[3\]\.(switches|comparisons|compared)'
done

changed 's/"bound_sets": 1/"bound_sets": 2/' >bound.json
report bound.json
works "a report of bound processes" '4 processes on 2 CPUs, oversubscribed, bound to 2 sets'
report "$here/across.json"
works "a report across nodes" '^    raw limits +19\.7 us: round trip to 1 node, soft NIC$' \
    '^ +35\.2 us: round trip to 2 nodes, soft NIC$' '^ +4\.19 us: round trip to 1 node, kernel NIC$' \
    '^    >  tree:2@kernel +19\.0 +18\.0 +51\.6 +5\.49 x +7\.1 +3  chosen$' \
    '^       tree:2 +46\.0 .* 35\.2 +3$' '^       openmpi +104\.4 .* - +3 ' \
    '^    confidence +62 %; the choice is provisional' \
    '^    machine +load 41\.2; 312 involuntary context switches of a process while measuring$'
grep -q 'one process to the next' out
verdict $((1 - $?)) "what is not measured there is not shown"
report "$here/collectives.json"
works "a report of collectives that carry data" \
    '^    MPI_Allreduce    112  exchange       2\.25        9\.00  4\.00 x  measured$' \
    '^    MPI_Allreduce    512  openmpi        12\.5        10\.0  0\.80 x  measured, provisional \(25 %\)$' \
    '^    MPI_Bcast   1048576  ring            -           -     -  parameter$' \
    '^    MPI_Allreduce   4096  openmpi +- +- +-  same shape, 12 communicators$' \
    '^\[4\] no barriers$' '^    exchange +every process writes' '^    ring +one process writes' \
    '3 communicators with a chosen barrier: 3 by nicbarr'
sed '0,/"exchange"/s//"rooted:3@kernel"/' "$here/collectives.json" >rooted.json
report rooted.json
works "a reduction that one node combines" '^    MPI_Allreduce    112  rooted:3@kernel ' \
    '^    rooted:N +data are sent up a tree of degree N to one node' '^    \.\.\.@kernel '
sed '0,/"source": "measured"/s//&, "remeasured": 2, "switches": 1/' "$here/collectives.json" >remeasured.json
report remeasured.json
works "one that was measured anew" \
    '^    MPI_Allreduce    112  exchange .* measured, remeasured 2 times, replaced 1 time$'
sed 's/"remeasured": 2/"remeasured": 0/' remeasured.json >bad.json
refuses_bad "remeasured after none" 'collectives\[0\]\.remeasured'
report "$here/collectives.json"
rows=$(awk '/^\[/ { number = $1 } /^    MPI_/ { print number $1 $2 }' out | tr '\n' ' ')
[ "$rows" = "[1]MPI_Allreduce112 [1]MPI_Allreduce512 [2]MPI_Allreduce112 [3]MPI_Bcast1048576\
 [4]MPI_Bcast4096 [4]MPI_Allreduce4096 " ]
verdict $? "each is under its communicator, once"
awk 'length > 100 { wide = 1 } END { exit wide }' out
verdict $? "no line of it is longer than 100 columns"
report --csv "$here/collectives.json"
works "CSV is about barriers" '^entry,'
[ "$(wc -l <out)" -eq 1 ]
verdict $? "CSV has no line for other collectives"
report --plot none.svg "$here/collectives.json"
[ "$status" -eq 1 ] && [ ! -e none.svg ] && grep -q 'no barrier of this job was measured' err
verdict $? "the plot is about barriers"

sed -n '/"communicators": \[/q;p' "$here/every_source.json" >empty.json
echo '"communicators": []}' >>empty.json
report empty.json
works "a report without communicators" 'no communicator executed enough barriers'
changed 's/"host": "vm"/"host": "a\\u001b[31m\\u202eb\\nc"/' >hostile.json
report hostile.json
works "names cannot steer the terminal" '^    host +a\?+\[31m\?+b\?+c \('
changed 's/"format"/"added later": [{}], "format"/; s/"algorithm"/"new": null, "algorithm"/' >more.json
report more.json
works "fields of the future are passed over" '^\[7\]'

# ---- CSV

report --csv "$here/every_source.json"
works "CSV" '^entry,communicator,.*,median_us,' \
    '^1,"measured",1,4,2,1,1,flags:4,1,2\.14026,2\.10643,2\.24963,2\.12155,2\.38705,12,1\.32656,1\.36403$' \
    '^7,"Open MPI.s own wins",1,2,2,2,0,openmpi,1,0\.0234,0\.0215,0\.0301,1,,64,0\.024,0\.31$'
[ "$(wc -l <out)" -eq 12 ]
verdict $? "CSV has a line for each candidate"
changed 's/"communicator": "measured"/"communicator": "say \\"hi\\", all"/' >quotes.json
report --csv quotes.json
works "CSV doubles quotes" '^1,"say ""hi"", all",'

# ---- plots

if command -v gnuplot >gnuplot-path; then
    report "$here/every_source.json" --plot a.svg
    works "a plot as SVG" '^Plot: a\.svg$'
    grep -q '</svg>' a.svg && [ "$(grep -c 'flags:4' a.svg)" -eq 2 ] && grep -q 'microseconds' a.svg
    verdict $? "the SVG is complete"
    changed 's/"q3_us": 90.0/"q3_us": 900/' >far.json
    report far.json -p far.svg
    grep -q 'error bars that reach the edge extend beyond it' far.svg
    verdict $? "an outlier does not set the range"
    report "$here/every_source.json" -p a.PNG
    works "a plot as PNG" '^Plot: a\.PNG$'
    [ "$(head -c 8 a.PNG | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
    verdict $? "the PNG is one"
    report "$here/across.json" -p a.pdf
    works "a plot as PDF" '^Plot: a\.pdf$'
    [ "$(head -c 5 a.pdf)" = %PDF- ]
    verdict $? "the PDF is one"
    report "$here/across.json" --plot both.svg --plot both.pdf
    works "two plots" '^Plot: both\.svg$' '^Plot: both\.pdf$'
    grep -q '</svg>' both.svg && [ "$(head -c 5 both.pdf)" = %PDF- ]
    verdict $? "both are there, each of its kind"
    report --csv "$here/across.json" --plot b.svg
    works "a plot beside CSV" '^entry,'
    ! grep -q Plot out && [ -s b.svg ]
    verdict $? "CSV stays CSV"

    evil='$(touch pwned) `touch pwned` '"'"'; system("touch pwned"); |touch pwned .svg'
    changed 's/"communicator": "measured"/"communicator": "`touch pwned` %g {x} \x27.system(\\"touch pwned\\").\x27 <b>\&"/' \
        >evil.json
    report evil.json --plot "$evil"
    works "a plot of evil names" '`touch pwned`'
    [ -s "$evil" ] && [ ! -e pwned ] && grep -q '`touch pwned` %g {x}' "$evil"
    verdict $? "evil names are but names"
    for zero in 's/: [0-9][0-9.]*\(,\{0,1\}\)$/: 1\1/' 's/_us": [0-9.]*/_us": 0/' \
        's/\(q3_us\|model_us\)": [0-9.]*/\1": 1e12/' \
        's/\(median_us\)": [0-9.]*/\1": 0.0/; s/\(q1_us\)": [0-9.]*/\1": 0.0/'; do
        changed "$zero" >zero.json
        report zero.json --plot z.svg
        works "a plot after $zero"
    done

    # All texts of a plot are readable, even if names are long.
    if command -v python3 >python-path; then
        long=$(printf '%064d' 0 | tr 0 n)
        sed "s/\"communicator\": \"[^\"]*\"/\"communicator\": \"$long\"/
            s/\"\(host\|processor\)\": \"[^\"]*\"/\"\1\": \"$long\"/
            s/\"tree:2@kernel\"/\"dissemination:4096@kernel\"/" "$here/across.json" >long.json
        sed 's/"round_trips": \[/"round_trips": [], "x": [/' "$here/across.json" >limitless.json
        for sample in "$here"/across.json "$here"/every_source.json far.json long.json limitless.json; do
            report "$sample" --plot p.svg
            python3 "$here/../../bench/report/svg_texts.py" p.svg >out
            verdict $? "texts of ${sample##*/}'s plot"
        done
        python3 "$here/../../bench/report/svg_texts.py" "$here"/../../docs/pictures/*.svg >out
        verdict $? "texts of the README's pictures"
        ! grep -q 'raw limits' p.svg && grep -q '3 processes on 3 nodes of 2 CPUs' p.svg
        verdict $? "a plot says what was measured, and where"
        sed 's/viewBox="0 0 [0-9]*/viewBox="0 0 300/' p.svg >cut.svg
        python3 "$here/../../bench/report/svg_texts.py" cut.svg >out
        [ $? -eq 1 ] && grep -q "leaves the picture" out
        verdict $? "a text that is cut off is found"
    else
        count=$((count + 1))
        echo "ok $count - texts of plots # SKIP there is no python3"
    fi

    report empty.json --plot c.svg
    [ "$status" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e c.svg ] && grep -q 'nothing to plot' err
    verdict $? "nothing to plot"
    report "$here/across.json" --plot no/such/directory.svg
    [ "$status" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'No such file' err
    verdict $? "a plot into a missing directory"
    mkdir bin
    printf '#!/bin/sh\necho broken: as expected >&2\nexit 3\n' >bin/gnuplot
    chmod +x bin/gnuplot
    PATH=$PWD/bin:$PATH report "$here/across.json" --plot c.svg
    [ "$status" -eq 1 ] && [ ! -e c.svg ] && grep -q 'gnuplot failed: broken: as expected' err
    verdict $? "gnuplot fails"
else
    count=$((count + 1))
    echo "ok $count - plots # SKIP there is no gnuplot"
fi
mkdir nothing
/usr/bin/env PATH="$PWD/nothing" "$nicbarr" report "$here/across.json" --plot c.svg >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e c.svg ] && grep -q 'install gnuplot' err
verdict $? "no gnuplot"

# ---- files that are no reports

report missing.json
refuses "a missing file" 'missing\.json: No such file'
report .
refuses "a directory" 'Is a directory'
report /dev/null
refuses "an empty file" 'not JSON'
head -c 100000 /dev/urandom >noise.json
report noise.json
refuses "noise" 'not JSON'
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >deep.json
report deep.json
refuses "deep nesting" 'not JSON'
echo '[]' >bad.json
refuses_bad "a list" 'not a report of nicbarr'
echo '{}' >bad.json
refuses_bad "an empty object" 'not a report of nicbarr'
echo '{"format": 7}' >bad.json
refuses_bad "a format that is a number" 'not a report of nicbarr'
changed 's/nicbarr report 1/nicbarr tuning cache 1/' >bad.json
refuses_bad "a foreign file" 'format is "nicbarr tuning'
changed 's/nicbarr report 1/nicbarr report 2/' >bad.json
refuses_bad "a later format" 'reads "nicbarr report 1"'
changed '$s/$/ {}/' >bad.json
refuses_bad "something after the report" 'not JSON'
printf '{"format": "nicbarr report 1",\n "x\033[31m' >bad.json
refuses_bad "a broken escape" 'not JSON'
[ "$(tr -d '\n[:print:]' <err | wc -c)" -eq 0 ]
verdict $? "what it quotes is printable"

for field in format host processor open_mpi nicbarr time communicators; do
    sed "1,9s/\"$field\":/\"x\":/" "$here/every_source.json" >bad.json
    refuses_bad "no $field" "$field"
done
for field in communicator processes communicators choice source reason nodes processors bound_sets \
    oversubscribed record_bytes algorithm rounds q1_us median_us q3_us switch_us spent_ms \
    budget_ms process; do
    sed "10,\$s/\"$field\":/\"x\":/" "$here/every_source.json" >bad.json
    refuses_bad "no $field in an entry" "communicators\[[0-9]\].*$field is missing"
    for value in null '[]' '{}' '-1' '-0.5' true '"\\u0007"' 1e13 99999999999999999999 1e999 NaN; do
        case $field:$value in
        oversubscribed:true | communicator:\"* | reason:\"* | process:\"* | record_bytes:1e13) continue ;;
        esac
        sed "10,\$s/\"$field\": \(\"[^\"]*\"\|[^,]*\)\(,\{0,1\}\)\$/\"$field\": $value\2/" \
            "$here/every_source.json" >bad.json
        refuses_bad "$field is $value" 'bad.json: '
    done
done
for field in communicator processes communicators collective bytes choice source nodes processors \
    bound_sets oversubscribed record_bytes algorithm rounds q1_us median_us q3_us spent_ms process; do
    for change in "s/\"$field\":/\"x\":/" "s/\"$field\": [^,]*\(,\{0,1\}\)\$/\"$field\": null\1/"; do
        sed "/\"collectives\": \[/,\$$change" "$here/collectives.json" >bad.json
        refuses_bad "a collective after $change" "collectives\[0\]\..*$field is"
    done
done
for field in provisional load involuntary_switches; do
    sed "s/\"$field\":/\"x\":/" "$here/across.json" >bad.json
    refuses_bad "confidence without $field" "communicators\[0\]\.$field is missing"
done
for value in -0.5 1.5 '""' null; do
    sed "s/\"confidence\": .*/\"confidence\": $value,/" "$here/across.json" >bad.json
    refuses_bad "a confidence of $value" 'communicators\[0\]\.confidence is not a number, or out of range'
done
for value in 3 '{}' null; do
    sed "s/\"collectives\": \[/\"collectives\": $value, \"x\": [/" "$here/collectives.json" >bad.json
    refuses_bad "collectives is $value" 'collectives is not a list'
done
for value in 0 -1 1.5 99999999999; do
    sed "s/\"bytes\": .*/\"bytes\": $value,/" "$here/collectives.json" >bad.json
    refuses_bad "up to $value bytes" 'collectives\[0\]\.bytes is not a whole number'
done
sed 's/"collectives": \[/&null, /' "$here/collectives.json" >bad.json
refuses_bad "a collective is null" 'collectives\[0\] is not an object'
sed 's/"bytes": 512/"bytes": 0/' "$here/collectives.json" >bad.json
refuses_bad "the second collective" 'collectives\[1\]\.bytes is not'
changed 's/"candidates": \[/"candidates": 3, "x": [/' >bad.json
refuses_bad "candidates is a number" 'not a list'
changed 's/"candidates": \[/"candidates": [[], /' >bad.json
refuses_bad "a candidate is a list" 'not an object'
for value in 3 '{}' '[[]]' '["soft"]' '[{"peers": 1, "least_us": 1, "median_us": 1}]'; do
    sed "s/\"round_trips\": \[/\"round_trips\": $value, \"x\": [/" "$here/across.json" >bad.json
    refuses_bad "round_trips is $value" 'round_trips'
done
for field in nic peers least_us median_us; do
    for value in null '[]' -1 true 1e13; do
        sed "/round_trips/,\$s/\"$field\": [^,]*\(,\{0,1\}\)\$/\"$field\": $value\1/" \
            "$here/across.json" >bad.json
        refuses_bad "a round trip's $field is $value" "round_trips\[0\]\.$field is not"
    done
done
changed 's/"communicators": \[/"communicators": [null, /' >bad.json
refuses_bad "an entry is null" 'not an object'
changed 's/"source": "cache"/"source": "guess"/' >bad.json
refuses_bad "an unknown source" "'guess'"
changed 's/"algorithm": "tree:2"/"algorithm": "tree:2\\n"/' >bad.json
refuses_bad "an algorithm with a line end" 'not an algorithm'
changed 's/"q1_us": 60.0/"q1_us": 70.0/' >bad.json
refuses_bad "quartiles out of order" 'not in this order'

for sample in every_source across collectives; do
    bytes=$(($(wc -c <"$here/$sample.json") - 2))
    at=0
    whole=0
    while [ "$at" -le "$bytes" ]; do
        head -c "$at" "$here/$sample.json" >cut.json
        report cut.json
        if [ "$status" -ne 1 ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ]; then
            echo "# $at bytes: status $status"
            whole=1
        fi
        at=$((at + 50))
    done
    verdict $whole "$sample.json cut off after every 50th byte"
done

# ---- usage

usage() { # NAME ARGUMENT...: the command line is refused
    name=$1
    shift
    "$nicbarr" "$@" >out 2>err
    [ $? -eq 64 ] && [ ! -s out ] && [ -s err ]
    verdict $? "$name"
}
usage "no command"
usage "an unknown command" wibble
usage "no file" report
usage "two files" report a b
usage "an unknown option" report --wibble a
usage "a plot of another kind" report a --plot a.gif
usage "four plots" report a --plot 1.svg --plot 2.svg --plot 3.svg --plot 4.svg
usage "a plot without a name" report a --plot .svg
for arguments in --help --version 'report --help' 'report --version'; do
    # shellcheck disable=SC2086
    "$nicbarr" $arguments >out 2>err && [ -s out ] && [ ! -s err ]
    verdict $? "$arguments"
done
"$nicbarr" report "$here/across.json" >/dev/full 2>err
[ $? -eq 1 ] && grep -q 'No space' err
verdict $? "a full disk"

finish
