import fs from 'node:fs/promises';
import { membersOf } from '../../identity.ts';

/** The state of a listening socket in /proc/net/tcp. */
const LISTENS = '0A';

/**
 * Whether a program listens on a port in the network namespace of a sandbox, whose group has this leader. The kernel lists the
 * sockets, so no process has to enter the namespace.
 */
export async function listensInside(leader: number, port: number): Promise<boolean> {
  // The leader starts in the network of the machine.
  const inside = (await membersOf(leader)).find((pid) => pid !== leader);
  if (inside === undefined) return false;
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => fs.readFile(`/proc/${inside}/net/${name}`, 'utf8').catch(() => '')),
  );
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .some((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      return local.endsWith(ending) && state === LISTENS;
    });
}
