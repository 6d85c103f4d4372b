import fs from 'node:fs';
import { codeOf } from '../lib/system-error.ts';
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
      namesInProc().flatMap((name) => {
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
  return namesInProc().flatMap((name) => {
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

/**
 * A descriptor that is kept for the files of /proc, because processes have to be found and ended even if this process may
 * open no other.
 */
let spare: number | undefined;

/** Runs `read`, which closes what it opens. If no descriptor is left for it, it gets the spare one. */
function withSpare<T>(read: () => T): T {
  spare ??= openSpare();
  try {
    return read();
  } catch (error) {
    if (spare === undefined || !['EMFILE', 'ENFILE'].includes(codeOf(error))) throw error;
  }
  fs.closeSync(spare);
  try {
    return read();
  } finally {
    spare = openSpare();
  }
}

function openSpare(): number | undefined {
  try {
    return fs.openSync('/proc', 'r');
  } catch {
    return undefined;
  }
}

function namesInProc(): string[] {
  return withSpare(() => fs.readdirSync('/proc'));
}

/** Buffer for files of /proc. Such a file has no size, so `readFileSync` would allocate 64 KiB each time. */
const scratch = Buffer.allocUnsafeSlow(4096);

function readProc(path: string): string | undefined {
  try {
    return withSpare(() => readAll(path));
  } catch {
    return undefined;
  }
}

function readAll(path: string): string {
  const fd = fs.openSync(path, 'r');
  try {
    let text = '';
    for (;;) {
      const bytes = fs.readSync(fd, scratch, 0, scratch.length, null);
      if (bytes === 0) return text;
      text += scratch.toString('latin1', 0, bytes);
    }
  } finally {
    fs.closeSync(fd);
  }
}
