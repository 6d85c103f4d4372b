import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { Found, ProcessTable } from './process-table.ts';

/**
 * Processes as macOS shows them: by `ps`. Start times are seconds since 1970, which is all that `ps` says.
 *
 * macOS hides the environment of the programs that it protects, such as /bin/sh and /bin/sleep. So a process
 * also counts as ours if its parent does; one that is protected, has left its group and has outlived its parents is not
 * found.
 */
export const ps: ProcessTable = {
  bootId: () => {
    if (bootedAt === undefined) find(FIRST);
    return bootedAt?.toString() ?? 'unknown';
  },
  find,
  isInForeground: () => {
    const output = ask(['-o', 'pgid=', '-o', 'tpgid=', '-p', String(process.pid)]);
    const [group, foreground] = output.trim().split(/ +/);
    return group === foreground;
  },
  membersOf,
  carriersOf,
  // A look takes tens of milliseconds of a core.
  pause: { first: 25, longest: 250 },
  keeperEnds,
  wordOf: (started) => {
    const [day, date, month, year, time] = new Date(started * 1000).toUTCString().split(/,? /);
    return [day, month, Number(date), time, year].join('_');
  },
};

/** The first process: its start stands for the boot, and is learned with the first process that is looked at. */
const FIRST = 1;
let bootedAt: number | undefined;

/** The environment of `ps`, which writes times as it says. */
const FIXED = { LC_ALL: 'C', TZ: 'UTC' };
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Line extends Found {
  command: string;
}

function find(pid: number): Found | undefined {
  const asked = bootedAt === undefined ? [FIRST, pid] : [pid];
  const found = linesOf(ask([...COLUMNS, '-p', asked.join(',')]));
  bootedAt ??= found.find((one) => one.pid === FIRST)?.started;
  return found.find((one) => one.pid === pid);
}

async function membersOf(group: number): Promise<number[]> {
  const all = await look([...COLUMNS, ALL]);
  // Where `ps` cannot be started, at the limit of processes, the group still answers to signals: it is looked at again.
  if (all === undefined) return [group];
  return all.filter((one) => one.group === group && !one.isDead).map(({ pid }) => pid);
}

async function carriersOf(marker: string, groups: readonly number[]): Promise<number[]> {
  const { all, carriers } = await lookFor(marker);
  const members = all.filter(({ group }) => groups.includes(group));
  const found = new Set([...carriers, ...members].map(pidOf));
  for (let known = -1; known !== found.size;) {
    known = found.size;
    for (const { pid, parent } of all)
      if (found.has(parent) && parent !== process.pid) found.add(pid);
  }
  found.delete(process.pid);
  return [...found];
}

/** Reads all processes, and which of them have the marker in their environment rather than in their arguments. */
async function lookFor(marker: string): Promise<{ all: Line[]; carriers: Line[] }> {
  for (let looks = 1; ; looks++) {
    const all = (await look([...COLUMNS, ...COMMAND, ALL, ENVIRONMENT])) ?? [];
    const named = all.filter(({ command }) => command.includes(marker));
    if (named.length === 0) return { all, carriers: [] };
    const bare = (await look([...COLUMNS, ...COMMAND, '-p', named.map(pidOf).join(',')])) ?? [];
    const argumentsOf = new Map(bare.map(({ pid, command }) => [pid, command]));
    const hasChanged = ({ pid, command }: Line) => !command.includes(argumentsOf.get(pid) ?? '');
    if (looks < MAX_LOOKS && named.some(hasChanged)) continue;
    const carriers = named.filter(({ pid, command }) =>
      command.replace(argumentsOf.get(pid) ?? '', '').includes(marker),
    );
    return { all, carriers };
  }
}

function pidOf({ pid }: Found): number {
  return pid;
}

/** Blocks. The answer is empty where there is no such process, and where `ps` could not be run. */
function ask(words: readonly string[]): string {
  const { stdout } = spawnSync('ps', words, {
    env: environment(),
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return stdout ?? '';
}

/** Undefined where `ps` could not be run. It fails where none of the named processes is left, too, and prints nothing. */
async function look(words: readonly string[]): Promise<Line[] | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', words, {
      env: environment(),
      encoding: 'latin1',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return linesOf(stdout);
  } catch {
    return undefined;
  }
}

function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', ...FIXED };
}

const LINE =
  /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}) *(?: (.*))?$/gm;

function linesOf(output: string): Line[] {
  return [...output.matchAll(LINE)].map(([, pid, parent, group, state, start, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    isDead: /^[ZX]/.test(state ?? ''),
    started: Date.parse(`${start} UTC`) / 1000,
    command,
  }));
}

/**
 * Reads all processes twice, without and with environments, to distinguish a marker in an environment from one in
 * arguments; and again, if a process became another program in between. The processes of cadre are every member of a
 * listed group, every process with the marker, and all their descendants.
 */
function keeperEnds(): string {
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

// Arguments of `ps`, for the server and for its keeper.

/**
 * One -o a column: after its "=", `ps` of macOS takes the rest of the word as the heading. The command comes last, because
 * it has spaces.
 */
const COLUMNS = ['pid=', 'ppid=', 'pgid=', 'state=', 'lstart='].flatMap((name) => ['-o', name]);
const COMMAND = ['-ww', '-o', 'command='];
/** Adds the environment to the command. For this alone the programs of Linux and macOS have different words. */
const ENVIRONMENT = process.platform === 'linux' ? 'e' : '-E';
const ALL = '-A';

/** How often all is read again because a process became another program between two looks. */
const MAX_LOOKS = 5;
