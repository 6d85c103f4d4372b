import fs from 'node:fs';
import type { Found, ProcessTable } from './process-table.ts';

/** Processes as Linux has them: in /proc. Start times are clock ticks since boot. */
export const procfs: ProcessTable = {
  bootId: () => readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown',
  find,
  isInForeground: () => {
    const [, , group, , , foreground] = fieldsOf('self') ?? [];
    return group === foreground;
  },
  membersOf: (group) =>
    Promise.resolve(
      fs.readdirSync('/proc').flatMap((name) => {
        const found = /^\d+$/.test(name) ? find(Number(name)) : undefined;
        return found?.group === group && !found.isDead ? [found.pid] : [];
      }),
    ),
  carriersOf: (marker) => Promise.resolve(carriersOf(marker)),
  pause: { first: 2, longest: 50 },
  keeperEnds: () => `
started() { read -r stat 2>/dev/null < "/proc/$1/stat" || return 1; set -- \${stat##*) }; shift 19; echo "$1"; }
for entry in $groups; do
  group=\${entry%%:*}
  now=$(started "$group") && [ "$now" != "\${entry#*:}" ] && continue
  kill -KILL "-$group" 2>/dev/null
done
again=1
while [ "$again" = 1 ]; do
  again=0
  # Not by its exit status: one file that may not be read makes that an error, whatever was found.
  for file in $(grep -lsF -- "$marker" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}; pid=\${pid%/environ}
    read -r stat 2>/dev/null < "/proc/$pid/stat" || continue
    case \${stat##*) } in Z*) continue ;; esac
    kill -KILL "$pid" 2>/dev/null && again=1
  done
  [ "$again" = 1 ] && { sleep 0.02 2>/dev/null || sleep 1; }
done
`,
  wordOf: String,
};

/** Returns the processes whose initial environment contains `marker`, without this process; tests look at the whole by it. */
export function carriersOf(marker: string): number[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    return readProc(`/proc/${pid}/environ`)?.includes(marker) ? [pid] : [];
  });
}

function find(pid: number): Found | undefined {
  const fields = fieldsOf(String(pid));
  if (!fields) return undefined;
  const [state = ''] = fields;
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    started: Number(fields[19]),
    isDead: state === 'Z' || state === 'X',
  };
}

/**
 * Returns the fields of a stat file behind the name, which is in parentheses and may contain any character: state, parent,
 * group, session, terminal, the group in its foreground; the 20th is the start time.
 */
function fieldsOf(process: string): string[] | undefined {
  const stat = readProc(`/proc/${process}/stat`);
  return stat ? stat.slice(stat.lastIndexOf(')') + 2).split(' ') : undefined;
}

/** Buffer for files of /proc. Such a file has no size, so `readFileSync` would allocate 64 KiB each time. */
const scratch = Buffer.allocUnsafeSlow(4096);

function readProc(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = fs.openSync(path, 'r');
    let text = '';
    for (;;) {
      const bytes = fs.readSync(fd, scratch, 0, scratch.length, null);
      if (bytes === 0) return text;
      text += scratch.toString('latin1', 0, bytes);
    }
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
