import os from 'node:os';
import { membersOf, signal } from '../identity.ts';
import { processTable } from '../this-machine.ts';
import type { ChildExit } from '../spawn-barrier.ts';

/**
 * Signals the members of a sandboxed group, except bubblewrap itself: its end would kill the command at once. Bubblewrap is
 * the leader of the group, and the child of the leader that is the first process of the new namespace. Resolves with whether
 * there was a member to signal.
 */
export async function signalInside(leader: number, name: NodeJS.Signals): Promise<boolean> {
  const members = await membersOf(leader);
  const inside = members.filter(
    (pid) => pid !== leader && processTable.find(pid)?.parent !== leader,
  );
  for (const pid of inside) signal(pid, name);
  return inside.length > 0;
}

const names = new Map(
  Object.entries(os.constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** Returns the exit of a sandboxed command: bubblewrap exits with 128 + n if signal n ended the command. */
export function exitInside(exit: ChildExit): ChildExit {
  const name = names.get((exit.code ?? 0) - 128);
  return name === undefined ? exit : { code: null, signal: name };
}
