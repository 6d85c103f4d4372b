/** The shells that have a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * The script with which a shell completes a command, `cadre` or another name for it. It asks the program itself, as it
 * was typed, so that it works under an alias too: `cadre __complete -- WORDS…`.
 */
export function completionScript(shell: Shell, name = 'cadre'): string {
  return { bash, zsh, fish }[shell](name);
}

const bash = (name: string) => String.raw`# Completes ${name} in bash.
_cadre_ask() {
  # eval, because the command may be an alias; a word that is more than a name or a path is not evaluated.
  [[ $1 == *[^[:alnum:]_./~+-]* ]] && return
  local command=$1
  shift
  eval "$command"' __complete -- "$@"' 2>/dev/null </dev/null
}

_cadre() {
  # After --flag= the word at the cursor is the = itself.
  local current=${'$'}{COMP_WORDS[COMP_CWORD]#=} word about find='' i
  local -a abouts=()
  COMPREPLY=()
  compopt -o nosort 2>/dev/null # the newest first, as in lists
  while IFS=$'\t' read -r word about; do
    case $word in
      '<file>') find=-f ;;
      '<directory>') find=-d ;;
      "$current"*) COMPREPLY+=("${'$'}{word// /\\ }") abouts+=("$about") ;;
    esac
  done < <(_cadre_ask "$1" "${'$'}{COMP_WORDS[@]:1:COMP_CWORD-1}" "${'$'}{COMP_WORDS[COMP_CWORD]}")
  if [[ -n $find ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=()
    # Not mapfile, which the bash of macOS lacks.
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$find" -- "$current")
  elif [[ $COMP_TYPE == 63 && ${'$'}{#COMPREPLY[@]} -gt 1 ]]; then
    # The words are only listed now, not inserted.
    for i in "${'$'}{!COMPREPLY[@]}"; do
      [[ -n ${'$'}{abouts[i]} ]] && COMPREPLY[i]+="  (${'$'}{abouts[i]})"
    done
  fi
}
complete -F _cadre ${name}
# An alias of the command is completed as well.
for _cadre_alias in "${'$'}{!BASH_ALIASES[@]}"; do
  [[ ${'$'}{BASH_ALIASES[$_cadre_alias]%% *} == ${name} ]] && complete -F _cadre "$_cadre_alias"
done
unset _cadre_alias
`;

const zsh = (name: string) => String.raw`#compdef ${name}
# Completes ${name} in zsh.
_cadre() {
  local -a offers before=("${'$'}{(@Q)words[2,CURRENT-1]}")
  local command=$words[1]
  compset -P '--*=' && before+=("${'$'}{IPREFIX%=}")
  [[ $command == *[^[:alnum:]_./~+-]* ]] && return 1
  offers=("${'$'}{(@f)$(eval "$command"' __complete -- "${'$'}{before[@]}" "$PREFIX"' 2>/dev/null </dev/null)}")
  case $offers[1] in
    '<file>') _files ;;
    '<directory>') _files -/ ;;
    ?*) offers=("${'$'}{(@)offers//:/\\:}") && offers=("${'$'}{(@)offers/$'\t'/:}") && _describe -V ${name} offers ;;
  esac
}
# compinit has it called; whoever sources it has to register it.
if [[ $funcstack[1] == _cadre ]]; then
  _cadre "$@"
else
  # zsh replaces an alias before it completes; a function stays what was typed.
  if (( $+aliases[${name}] )); then
    functions[${name}]="${'$'}{aliases[${name}]} \"\$@\""
    unalias ${name}
  fi
  compdef _cadre ${name}
fi
`;

const fish = (name: string) => String.raw`# Completes ${name} in fish.
function __cadre_complete
    set -l before (commandline -opc)
    set -l command (string replace -r '^~' $HOME -- $before[1])
    set -e before[1]
    set -l current (commandline -ct)
    # --flag=value is one word to fish: what is offered starts with the flag.
    set -l start (string match -r -- '^--[^=]+=' "$current")
    if set -q start[1]
        set -a before (string trim -r -c = -- $start)
        set current (string replace -- $start '' $current)
    end
    set -l offers ($command __complete -- $before "$current" 2>/dev/null </dev/null)
    contains '<file>' $offers; and set offers (__fish_complete_path "$current")
    contains '<directory>' $offers; and set offers (__fish_complete_directories "$current")
    for offer in $offers
        printf '%s\n' "$start$offer"
    end
end
complete -k -c ${name} -f -a '(__cadre_complete)'
`;
