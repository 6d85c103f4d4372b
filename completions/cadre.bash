# Completes cadre in bash.
_cadre_ask() {
  # eval, because the command may be an alias; a word that is more than a name or a path is not evaluated.
  [[ $1 == *[^[:alnum:]_./~+-]* ]] && return
  local command=$1
  shift
  eval "$command"' __complete -- "$@"' 2>/dev/null </dev/null
}

_cadre() {
  local word about find='' isOpen='' i
  local -a abouts=() words=()
  COMPREPLY=()
  # bash splits words at colons, such as handoff:codex.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && (-n $isOpen || $word == :*) ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    isOpen=''
    [[ $word == *: ]] && isOpen=yes
  done
  # After --flag= the word at the cursor is the = itself.
  local current=${words[${#words[@]}-1]#=} before=''
  # bash replaces only the part after the last colon.
  [[ $COMP_WORDBREAKS == *:* ]] && before=${current%"${current##*:}"}
  compopt -o nosort 2>/dev/null # the newest first, as in lists
  while IFS=$'\t' read -r word about; do
    case $word in
      '<file>') find=-f ;;
      '<directory>') find=-d ;;
      "$current"*)
        word=${word#"$before"}
        COMPREPLY+=("${word// /\\ }") abouts+=("$about")
        ;;
    esac
  done < <(_cadre_ask "$1" "${words[@]}")
  if [[ -n $find ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=()
    # Not mapfile, which the bash of macOS lacks.
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$find" -- "$current")
  elif [[ $COMP_TYPE == 63 && ${#COMPREPLY[@]} -gt 1 ]]; then
    # The words are only listed now, not inserted.
    for i in "${!COMPREPLY[@]}"; do
      [[ -n ${abouts[i]} ]] && COMPREPLY[i]+="  (${abouts[i]})"
    done
  fi
}
complete -F _cadre cadre
# An alias of the command is completed as well.
for _cadre_alias in "${!BASH_ALIASES[@]}"; do
  [[ ${BASH_ALIASES[$_cadre_alias]%% *} == cadre ]] && complete -F _cadre "$_cadre_alias"
done
unset _cadre_alias
