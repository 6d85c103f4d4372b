import { createHash } from 'node:crypto';
import type { Worktree } from '../../../api/worktrees.ts';
import type { Config } from '../../../core/config/schema.ts';
import { isPortOpen } from '../processes/waits.ts';

/** The ports of a worktree: so many from `port_base` on; null and 0: it has none. */
export type Ports = Pick<Worktree, 'port_base' | 'port_count'>;

/**
 * Returns a block of ports of which `taken` has none, and on which no program listens at the moment. The worktree's own
 * earlier block comes first, then the others from one that its path determines, so that servers with data directories of
 * their own rarely choose the same. The result has no ports if no block is free.
 */
export async function freePorts(
  { port_first, port_last, port_block }: Config['worktrees'],
  worktree: Pick<Worktree, 'path'> & Ports,
  taken: readonly Ports[],
): Promise<Ports> {
  const blocks = Math.floor((port_last - port_first + 1) / port_block);
  const digest = createHash('sha256').update(worktree.path).digest().readUInt32BE();
  const others = Array.from({ length: blocks }, (_, at) => ({
    port_base: port_first + ((digest + at) % blocks) * port_block,
    port_count: port_block,
  }));
  const { port_base, port_count } = worktree;
  for (const ports of [{ port_base, port_count }, ...others])
    if (!taken.some((one) => overlap(one, ports)) && (await isSilent(ports))) return ports;
  return { port_base: null, port_count: 0 };
}

/** Returns the variables that tell a program in a worktree its ports; none if it has none. */
export function portVariables({ port_base, port_count }: Ports): Record<string, string> {
  if (port_base === null) return {};
  return { CADRE_PORT_BASE: String(port_base), CADRE_PORT_COUNT: String(port_count) };
}

function overlap(one: Ports, other: Ports): boolean {
  if (one.port_base === null || other.port_base === null) return false;
  return (
    one.port_base < other.port_base + other.port_count &&
    other.port_base < one.port_base + one.port_count
  );
}

/** Whether these are ports, and nothing on this machine listens on any of them. */
async function isSilent({ port_base, port_count }: Ports): Promise<boolean> {
  if (port_base === null) return false;
  const asked = Array.from({ length: port_count }, (_, at) => isPortOpen(port_base + at, true));
  return !(await Promise.all(asked)).includes(true);
}
