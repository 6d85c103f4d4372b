import { ALL, COLUMNS, COMMAND, ENVIRONMENT, MAX_LOOKS } from './ps-words.ts';

/**
 * Reads all processes twice, without and with environments, to tell a marker in an environment from one in arguments; and
 * again, where a process became another program in between. What is ours is every member of a listed group, every process
 * with the marker, and all that descend from them.
 */
export function keeperEnds(): string {
  const columns = [...COLUMNS, ...COMMAND, ALL].join(' ');
  return `
ours() {
  { printf '%s\\n' "$marker" "$groups" "$looks"; ps ${columns}; echo; ps ${columns} ${ENVIRONMENT}; } 2>/dev/null | awk '
    function command(  i, text) {
      for (text = $0; i < 9; i++) sub(/^ *[^ ]+/, "", text)
      return substr(text, 2)
    }
    NR == 1 { marker = $0; next }
    NR == 2 { entries = split($0, entry); next }
    NR == 3 { mayLookAgain = $0 < ${MAX_LOOKS}; next }
    NF == 0 { second = 1; next }
    !second { arguments[$1] = command(); next }
    $4 ~ /^[ZX]/ { next }
    { parent[$1] = $2; group[$1] = $3; start[$1] = $5 "_" $6 "_" $7 "_" $8 "_" $9 }
    index($0, marker) {
      text = command(); at = index(text, arguments[$1])
      if (!at && mayLookAgain) { print "again"; next }
      if (!at || index(substr(text, 1, at - 1) substr(text, at + length(arguments[$1])), marker)) found[$1] = 1
    }
    END {
      for (i = 1; i <= entries; i++) {
        split(entry[i], part, ":"); leader = part[1]
        since = substr(entry[i], length(leader) + 2)
        if (!(leader in start) || start[leader] == since) listed[leader] = 1
      }
      for (pid in group) if (group[pid] in listed) found[pid] = 1
      do {
        grown = 0
        for (pid in parent) if (!(pid in found) && (parent[pid] in found)) { found[pid] = 1; grown = 1 }
      } while (grown)
      for (pid in found) if (group[pid] in listed) print "-" group[pid]
      for (pid in found) print pid
    }'
}
looks=0 again=1
while [ "$again" = 1 ]; do
  again=0 looks=$((looks + 1))
  for one in $(ours); do
    [ "$one" = again ] && again=1 && continue
    kill -KILL "$one" 2>/dev/null && again=1
  done
  [ "$again" = 1 ] && { sleep 0.02 2>/dev/null || sleep 1; }
done
`;
}
