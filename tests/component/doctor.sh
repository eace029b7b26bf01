#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr doctor` misleads a user. In set-ups with deliberate faults it must report each fault with a
# remedy, and nothing else. In a correct set-up it must not report any fault.
. "$(dirname "$0")/common.sh"

# Laid out as installed: programs of the build, scripts of the source tree.
libexec=$scratch/libexec
mkdir -p "$libexec/tools/probe" "$scratch/empty"
ln -s "$srcdir/ompi" "$libexec/"
ln -s "$srcdir/tools/job.sh" "$libexec/tools/"
ln -s "$builddir/tools/probe/nicbarr_probe" "$libexec/tools/probe/"
export NICBARR_LIBEXECDIR=$libexec PATH=$builddir/tools:$builddir/myrd:$PATH
without=$builddir/tests/component/without
unset OMPI_MCA_coll_nicbarr_cache # so that the cache is below XDG_CACHE_HOME
export OMPI_MCA_coll_nicbarr_network=lo XDG_RUNTIME_DIR=$scratch/empty NICBARR_KERNEL_SOCKET=$scratch/empty/none

doctor() { # exits with STATUS and writes JSON
    local wanted=$1
    shift
    timeout -k 5 "${watchdog:-300}" "$@" > "$scratch/out" 2> "$scratch/err"
    [ $? = "$wanted" ] && read_back
}
# Checks that the JSON is complete, that its counts agree with its findings, and that only findings that are not "ok"
# propose an action.
read_back() { holds 'whole["format"] == "nicbarr doctor 1" and len(all_of_them) > 0' && holds '
    all(set(f) == {"host", "what", "state", "seen", "do"} and f["what"] and f["seen"] for f in all_of_them) and
    all(f["state"] in ("ok", "note", "problem") and (f["do"] is None) == (f["state"] == "ok") for f in all_of_them) and
    whole["problems"] == len(problems) and whole["notes"] == sum(f["state"] == "note" for f in all_of_them)'; }
holds() { # EXPRESSION over the findings by subject
    EXPRESSION=$1 python3 -c '
import json, os, sys
whole = json.load(open(sys.argv[1]))
all_of_them = whole["findings"]
problems = [f["what"] for f in all_of_them if f["state"] == "problem"]
def state(what): return {f["state"] for f in all_of_them if f["what"] == what}
def seen(what): return " ".join(f["seen"] for f in all_of_them if f["what"] == what)
sys.exit(not eval(os.environ["EXPRESSION"].replace("\n", " ")))' "$scratch/out"
}

check "nicbarr doctor in a correct set-up" doctor 0 nicbarr doctor --json
check "no problem is reported" holds 'problems == []'
check "the component is found" holds 'state("component coll/nicbarr") == state("component") == {"ok"}'
check "the soft NIC works" holds 'state("NIC soft") == {"ok"} and "127.0.0.1 UDP port" in seen("NIC soft")'
check "daemons that are not running are noted" holds 'state("NIC daemon") == state("NIC kernel") == {"note"}'
check "the missing cache can be created" holds 'state("tuning cache") == {"ok"} and "can be created" in seen("tuning cache")'
check "the cache was not created" [ ! -e "$XDG_CACHE_HOME" ]
can_load=$(holds 'state("kernel as NIC") == {"ok"}' && echo yes)

# ---- processes without privileges; a cache file with invalid contents

mkdir -p "$XDG_CACHE_HOME/nicbarr"
echo garbage > "$XDG_CACHE_HOME/nicbarr/tuning.jsonl"
"$without" bpf,pidfd_getfd true
if [ $? = 77 ]; then
    echo "skip: no filter of system calls can be had here"
else
    check "nicbarr doctor without pidfd_getfd and BPF, with little locked memory and an invalid cache" \
        doctor 1 prlimit --memlock=65536 "$without" bpf,pidfd_getfd nicbarr doctor --json
    check "these problems are reported" holds 'sorted(problems) == ["NIC soft", "tuning cache"]'
    check "the finding names pidfd_getfd" holds '"pidfd_getfd is not permitted" in seen("NIC soft")'
    check "the finding names the cache and the reason" holds '"tuning.jsonl is not used" in seen("tuning cache") and "not a tuning cache" in seen("tuning cache")'
    check "the limit of locked memory is noted" holds 'state("locked memory") == {"note"} and " 64 KiB" in seen("locked memory")'
    check "the lack of BPF is noted" holds 'state("kernel as NIC") == {"note"}'
    [ -z "$can_load" ] || check "the note gives the reason for the lack of BPF" holds '"no permission to load BPF programs" in seen("kernel as NIC")'
    check "nicbarr doctor without pidfd_open" doctor 1 "$without" pidfd_open nicbarr doctor --json
    check "the finding names pidfd_open" holds '"pidfd_open or pidfd_getfd is not permitted" in seen("NIC soft")'
fi
check "the bad cache is unchanged" grep -qx garbage "$XDG_CACHE_HOME/nicbarr/tuning.jsonl"
rm -r "$XDG_CACHE_HOME"

# ---- Open MPI

mkdir "$scratch/broken" "$scratch/bin"
echo garbage > "$scratch/broken/mca_coll_nicbarr.so"
check "nicbarr doctor with a component that is not a shared library" doctor 1 env OMPI_MCA_mca_base_component_path="$scratch/broken:SYSTEM_DEFAULT" \
    nicbarr doctor --json
check "the finding contains the error message of Open MPI" holds 'state("component coll/nicbarr") == {"problem"} and "file too short" in seen("component coll/nicbarr")'
check "no other problem is reported" holds 'problems == ["component coll/nicbarr"]'
check "the processes of the job can use NICs nevertheless" holds 'state("NIC soft") == {"ok"}'

check "nicbarr doctor with the component disabled" doctor 1 env OMPI_MCA_coll=^nicbarr nicbarr doctor --json
check "only the component is reported" holds 'problems == ["component"]'

cat > "$scratch/bin/mpirun" << 'EOS'
#!/bin/bash
case $1 in --version) echo "mpirun (Open MPI) 3.1.4" ;; *) exec "${@: -1}" ;; esac
EOS
chmod +x "$scratch/bin/mpirun"
check "nicbarr doctor with an mpirun of a different Open MPI" doctor 1 env PATH="$scratch/bin:$PATH" nicbarr doctor --json
check "the finding names the different Open MPI" holds 'problems == ["Open MPI"] and "different MPIs" in seen("Open MPI")'

printf '#!/bin/sh\nexit 127\n' > "$scratch/bin/mpirun"
check "nicbarr doctor without an mpirun" doctor 1 env PATH="$scratch/bin:$PATH" nicbarr doctor --json
check "the finding reports that there is no mpirun" holds 'problems == ["mpirun"] and "PATH" in seen("mpirun")'

cat > "$scratch/bin/mpirun" << EOS
#!/bin/bash
[ "\$1" != --version ] || exec $(command -v mpirun) --version
echo 'ssh: Could not resolve hostname node7: Name or service not known' >&2
echo --------------------------------------------------------- >&2
for number in {1..40}; do echo "ORTE gives advice number \$number." >&2; done
exit 213
EOS
check "nicbarr doctor with an mpirun that fails" doctor 1 env PATH="$scratch/bin:$PATH" nicbarr doctor --json
check "the finding contains the first lines of its output as a whole" holds 'problems == ["job"] and
    seen("job").startswith("it failed (status 213): ssh: Could not resolve hostname node7: Name or service not known ORTE gives") and
    seen("job").endswith(". [and more]")'

# ---- as text; with a port that is in use

in_words() {
    local status
    mkfifo "$scratch/taken" "$scratch/end"
    python3 -c '
import socket, sys
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind(("127.0.0.1", 0))
open(sys.argv[1], "w").write(str(taken.getsockname()[1]))
open(sys.argv[2]).read()' "$scratch/taken" "$scratch/end" &
    port=$(cat "$scratch/taken")
    OMPI_MCA_coll_nicbarr_port=$port nicbarr doctor > "$scratch/out" 2> "$scratch/err"
    status=$?
    : > "$scratch/end"
    wait $!
    [ "$status" = 1 ]
}
check "nicbarr doctor prints its findings as text" in_words
check "the text shows what works" said "^ok       component coll/nicbarr: Open MPI finds version"
check "the text shows what does not work" said "^problem  .*, NIC soft: not available: cannot open UDP port $port"
check "the text contains a remedy for each problem" \
    [ "$(grep -cE "^(problem|note) " "$scratch/out")" = "$(grep -c "^         > " "$scratch/out")" ]
check "the last line counts the problems" said "^1 problem, [0-9]* notes"
misused() { # ARGUMENT...
    nicbarr doctor "$@" > "$scratch/out" 2>&1
    [ $? = 64 ] && said "^nicbarr doctor: "
}
check "an unexpected argument is refused" misused all
check "--hosts with a single host is refused" misused --hosts here
check "--hosts with the same host twice is refused" misused --hosts a,b,a

# ---- between hosts

. "$(dirname "$0")/hosts_common.sh"
unset OMPI_MCA_coll_nicbarr_network NICBARR_KERNEL_SOCKET
cat > "$scratch/between.sh" << 'EOS'
#!/bin/bash
here=$srcdir/testbeds/hosts
. "$here/launcher.sh"
exec "$NETHOSTS_RUN" 1 nicbarr doctor --json --hosts "$(sed 's/:[0-9]*//g' <<< "$list")" -- "${launcher[@]}"
EOS
export srcdir
between() { # repeated, because each launch may hang with Open MPI 5.0
    local launch wanted=$1
    shift
    for launch in $(seq "$launches"); do
        doctor "$wanted" "$nethosts" "$@" --shell 3 2 bash "$scratch/between.sh" && return
        holds '"job" in problems' || return
    done
    return 1
}
check "nicbarr doctor while packets between two hosts are dropped" between 1 --cut 1-3
check "each host reports its NIC" holds '{f["host"] for f in all_of_them if f["what"] == "NIC soft"} == {"host1", "host2", "host3"}'
check "only this pair of hosts is reported" holds 'problems == ["NIC soft between host1 and host3"]'
check "the NICs of the other pairs work" holds 'seen("NIC soft between hosts") == "it works between 2 pairs of hosts"'
finish
