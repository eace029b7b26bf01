# SPDX-License-Identifier: BSD-3-Clause
# bash completion of nicbarr, nicsim, nethosts and myrd: commands and long options. It asks the program's
# --help for them, so it has no list of its own. bash-completion sources it when such a command is typed.
# shellcheck shell=bash

_nicbarr() {
    local word=${COMP_WORDS[COMP_CWORD]} command=() help known=
    if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then
        command=("${COMP_WORDS[1]}")
    fi
    help=$("${COMP_WORDS[0]}" "${command[@]}" --help 2> /dev/null) || return
    if [[ $word == -* ]]; then # an item begins with options, and two spaces end them
        known=$(sed -nE '/^ +-/{s/^ +//; s/  .*//; p}' <<< "$help" | grep -oE -- '--[a-z0-9_-]+')
    elif [ "$COMP_CWORD" = 1 ]; then
        known=$(sed -nE '/^ *Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <<< "$help")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
}
complete -o bashdefault -o default -F _nicbarr nicbarr nicsim nethosts myrd
