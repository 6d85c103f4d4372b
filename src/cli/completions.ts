/** A command as the completion scripts know it. `describeTree` makes it from the program. */
export interface CommandTree {
  name: string;
  description: string;
  commands: CommandTree[];
  /** Its own options. The command takes those of its parents as well. */
  options: { flags: string[]; description: string; value: CommandValue | null }[];
  operands: CommandValue[];
}

/** The value of an option or an argument; `name` is its placeholder. */
export interface CommandValue {
  name: string;
  choices: readonly string[];
  variadic: boolean;
}

/** The shells that have a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/**
 * The script with which a shell completes `cadre`. It holds the command tree as a table, the awk program that reads the
 * table, which is the same for every shell, and the lines that connect the awk program to this shell.
 */
export function completionScript(shell: (typeof shells)[number], tree: CommandTree): string {
  return { bash, zsh, fish }[shell](tableOf(tree));
}

/** One line for each command. Below it, indented by a tab, one line for each flag, subcommand and operand it takes. */
function tableOf(tree: CommandTree, above = ''): string {
  const place = above + tree.name;
  const line = (...cells: string[]) => `${cells.join('\t').replaceAll('\n', ' ').trimEnd()}\n`;
  const taken = ({ name, choices, variadic }: CommandValue) =>
    (choices.join('|') || `<${name}>`) + (variadic ? '...' : '');
  return [
    line(place),
    ...tree.operands.map((value) => line('', '', taken(value))),
    ...tree.commands.map(({ name, description }) => line('', name, '', description)),
    ...tree.options.flatMap(({ flags, value, description }) =>
      flags.map((flag) => line('', flag, value ? taken(value) : '', description)),
    ),
    ...tree.commands.map((one) => tableOf(one, `${place} `)),
  ].join('');
}

// The awk program. Its arguments are the words up to the cursor, the last one as far as it is typed. It prints the
// completions of the last word as lines `word<tab>description`, or <file> or <directory> for names that the shell
// completes itself. The program contains no quotes, because the scripts quote it.
const reader = String.raw`
BEGIN { FS = "\t"; last = ARGC - 1; ARGC = 1 } # no files: the table comes on stdin
NF == 1 { place = $1; next }
$2 == "" { operand[place, operands[place]++] = $3; next }
{
  taken[place, $2] = $3
  kind = $2 ~ /^-/ ? "flags" : "commands"
  offers[place, kind] = offers[place, kind] $2 FS $4 "\n"
}
END {
  here = "cadre"; count = 0
  for (i = 1; i < last; i++) {
    if (ARGV[i] == "=") continue # bash cuts --flag=value in three
    if (wanted) wanted = ""
    else if (ARGV[i] ~ /^-/)
      for (at = here; at && !wanted; sub(/ ?[^ ]+$/, "", at)) wanted = taken[at, ARGV[i]]
    else if ((here, ARGV[i]) in taken) here = here " " ARGV[i]
    else if (operand[here, count] !~ /[.][.][.]$/) count++
  }
  if (!wanted && ARGV[last] ~ /^-/) {
    for (at = here; at; sub(/ ?[^ ]+$/, "", at)) printf "%s", offers[at, "flags"]
    exit
  }
  if (!wanted && !count) printf "%s", offers[here, "commands"]
  if (!wanted) wanted = operand[here, count]
  sub(/[.][.][.]$/, "", wanted)
  if (wanted == "<session>") {
    FS = " " # from now on; where no server runs nothing comes
    while (("cadre sessions list --limit 50 2>/dev/null </dev/null" | getline) > 0)
      if (heading++ && $1 ~ /^[0-9a-z_]+$/) print $1
  } else if (wanted !~ /^<|^$/ || wanted ~ /^<(file|directory)>$/) {
    gsub(/[|]/, "\n", wanted)
    print wanted
  }
}
`;

const posix = (table: string) => `_cadre_offers() {
  printf '%s' '${table.replaceAll("'", String.raw`'\''`)}' | awk '${reader}' "$@"
}
`;

const bash = (table: string) => `# Completes cadre in bash.
${posix(table)}
_cadre() {
  # After --flag= the word at the cursor is the = itself.
  local current=\${COMP_WORDS[COMP_CWORD]#=} one find=''
  COMPREPLY=()
  while IFS=$'\\t' read -r one _; do
    case $one in
      '<file>') find=-f ;;
      '<directory>') find=-d ;;
      "$current"*) COMPREPLY+=("$one") ;;
    esac
  done < <(_cadre_offers "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current")
  [[ -z $find ]] && return
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$find" -- "$current")
}
complete -F _cadre cadre
`;

const zsh = (table: string) => `#compdef cadre
# Completes cadre in zsh.
${posix(table)}
_cadre() {
  local -a offers before=("\${(@Q)words[2,CURRENT-1]}")
  compset -P '--*=' && before+=("\${IPREFIX%=}")
  offers=("\${(@f)$(_cadre_offers "\${before[@]}" "$PREFIX")}")
  case $offers[1] in
    '<file>') _files ;;
    '<directory>') _files -/ ;;
    ?*) offers=("\${(@)offers/$'\\t'/:}") && _describe cadre offers ;;
  esac
}
# compinit has it called; whoever sources it has to register it.
if [[ $funcstack[1] == _cadre ]]; then _cadre "$@"; else compdef _cadre cadre; fi
`;

const fish = (table: string) => String.raw`# Completes cadre in fish.
function __cadre_offers
    printf '%s' '${table.replaceAll(/[\\']/g, String.raw`\$&`)}' | awk '${reader}' $argv
end

function __cadre_complete
    set -l before (commandline -opc)[2..]
    set -l current (commandline -ct)
    # --flag=value is one word to fish: what is offered starts with the flag.
    set -l start (string match -r -- '^--[^=]+=' "$current")
    if set -q start[1]
        set -a before (string trim -r -c = -- $start)
        set current (string replace -- $start '' $current)
    end
    set -l offers (__cadre_offers $before "$current")
    contains '<file>' $offers; and set offers (__fish_complete_path "$current")
    contains '<directory>' $offers; and set offers (__fish_complete_directories "$current")
    for offer in $offers
        printf '%s\n' "$start$offer"
    end
end
complete -c cadre -f -a '(__cadre_complete)'
`;
