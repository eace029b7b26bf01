# SPDX-License-Identifier: BSD-3-Clause
# Functions that start virtual machines with separate kernels and emulated processors, which share the files of this
# machine. To be sourced by bash (verbshosts, testbeds/machines/machines). All machines run the same job; its status is
# that of the first machine. While they run, $machine_work is a directory on this machine, whose subdirectory out is
# /run/out in all virtual machines.
#
#     machine_job COMMAND...             set the job, which each machine runs in the current directory, with the
#                                        variables and functions of this shell. The variable `machine` is the number
#                                        of the machine
#     machine_start NUMBER IMAGE PROCESSORS QEMU-ARGUMENT...
#                                        start a machine. IMAGE is the output of `image`. qemu inherits the standard
#                                        input of this function
#     machine_wait SECONDS               print the output of the first machine until its job ends, and return the
#                                        status of the job; 124 after a timeout, 125 if the machine died, 77 if it did
#                                        not boot
# shellcheck shell=bash
machine_name=${0##*/}
machine_work=$(mktemp -d)
mkdir "$machine_work/out"
machine_pids=()
trap 'kill -KILL "${machine_pids[@]}" 2> /dev/null; rm -rf "$machine_work"' EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

machine_job() { # COMMAND...
    {
        export -p | grep -vE '^declare -x (HOME|OLDPWD|SHLVL|TMPDIR|_)='
        export -pf # functions
        echo 'touch /run/out/.begun'
        echo 'ulimit -l unlimited; ln -s /proc/self/fd /dev/fd; ip link set lo up' # (the link is for bash'\''s <(...))
        printf 'cd %q || exit 125\n' "$PWD"
        printf 'exec'
        printf ' %q' "$@"
        echo
    } > "$machine_work/out/.job"
}

machine_share() { # DIRECTORY NAME OPTIONS
    echo -fsdev "local,id=$2,path=$1,security_model=none$3" -device "virtio-9p-pci,fsdev=$2,mount_tag=$2"
}

# A machine ends when this script ends, for whatever reason (pdeathsig). maxcpus: if a machine cannot have more than
# one processor, qemu omits memory barriers, so a network card may miss an interrupt and stop. Therefore each machine
# could have one more processor than it uses. no_timer_check: otherwise Linux counts timer interrupts for a short
# time when it boots, and panics if there are none because this machine is busy and the emulated processor does not
# run.
machine_start() { # NUMBER IMAGE PROCESSORS QEMU-ARGUMENT...
    # shellcheck disable=SC2046 # words
    setpriv --pdeathsig KILL qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none -machine q35 \
        -accel tcg,thread=multi -cpu max,la57=off -smp "$3,maxcpus=$(($3 + 1))" -kernel "$2/kernel" -initrd "$2/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check random.trust_cpu=1 net.ifnames=0 machine=$1" \
        -serial "file:$machine_work/console$1" \
        $(machine_share / host ,readonly=on,multidevs=remap) $(machine_share "$machine_work/out" out "") \
        "${@:4}" <&0 > "$machine_work/qemu$1" 2>&1 &
    machine_pids+=($!)
}

machine_wait() { # SECONDS
    local first=${machine_pids[0]} out=$machine_work/out end=$((SECONDS + $1)) said status=125 how="has died"
    touch "$out/.said"
    tail -n +1 -s 0.1 -f --pid="$first" "$out/.said" &
    said=$!
    while kill -0 "$first" 2> /dev/null && [ ! -e "$out/.status" ] && [ $SECONDS -lt $end ]; do
        sleep 0.1
    done
    for _ in $(seq 50); do # it is shutting down
        if [ ! -e "$out/.status" ] || ! kill -0 "$first" 2> /dev/null; then break; fi
        sleep 0.1
    done
    kill -KILL "${machine_pids[@]}" 2> /dev/null
    wait "${machine_pids[@]}" 2> /dev/null
    wait $said 2> /dev/null
    if [ -e "$out/.status" ]; then
        return "$(cat "$out/.status")"
    elif [ $SECONDS -ge $end ]; then
        echo "$machine_name: ended after $1 s" >&2
        return 124
    fi
    [ -e "$out/.begun" ] || status=77 how="does not come up"
    echo "$machine_name: the virtual machine $how:" >&2
    tail -n 5 "$machine_work"/console? "$machine_work"/qemu? >&2
    return $status
}
