import type { Form, Sized } from './workload.ts';
import { clientCommands } from './workloads/client-commands.ts';
import { commands } from './workloads/commands.ts';
import { memory } from './workloads/memory.ts';
import { plainRequests } from './workloads/plain-requests.ts';
import { replay } from './workloads/replay.ts';
import { start } from './workloads/start.ts';

/** All workloads by their name, in the order in which they run. */
export const workloads: Record<string, (form: Form) => Sized> = {
  start,
  memory,
  'client-commands': clientCommands,
  commands,
  'plain-requests': plainRequests,
  replay,
};
