# SPDX-License-Identifier: BSD-3-Clause
# Completion of commands and long options in bash, for nicbarr, nicsim, nethosts and myrd. They are
# extracted from the output of --help, so that no separate list has to be maintained. bash-completion
# sources this file when one of these commands is completed for the first time.
# shellcheck shell=bash

_nicbarr() {
    local word=${COMP_WORDS[COMP_CWORD]} command=() help known=
    if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then
        command=("${COMP_WORDS[1]}")
    fi
    help=$("${COMP_WORDS[0]}" "${command[@]}" --help 2> /dev/null) || return
    if [[ $word == -* ]]; then # in --help, a line begins with options, and its description follows after two spaces
        known=$(sed -nE '/^ +-/{s/^ +//; s/  .*//; p}' <<< "$help" | grep -oE -- '--[a-z0-9_-]+')
    elif [ "$COMP_CWORD" = 1 ]; then
        known=$(sed -nE '/^ *Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <<< "$help")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
}
complete -o bashdefault -o default -F _nicbarr nicbarr nicsim nethosts myrd
