import type { Form, Sized } from './workload.ts';
import { acknowledgedWrites } from './workloads/acknowledged-writes.ts';
import { clientCommands } from './workloads/client-commands.ts';
import { commands } from './workloads/commands.ts';
import { fanOut } from './workloads/fan-out.ts';
import { firstAnswer } from './workloads/first-answer.ts';
import { growth } from './workloads/growth.ts';
import { largeTeam } from './workloads/large-team.ts';
import { longLog } from './workloads/long-log.ts';
import { memory } from './workloads/memory.ts';
import { outlive } from './workloads/outlive.ts';
import { plainRequests } from './workloads/plain-requests.ts';
import { replay } from './workloads/replay.ts';
import { sandbox } from './workloads/sandbox.ts';
import { screen } from './workloads/screen.ts';
import { search } from './workloads/search.ts';
import { start } from './workloads/start.ts';
import { teamMessages } from './workloads/team-messages.ts';
import { turn } from './workloads/turn.ts';
import { turns } from './workloads/turns.ts';

/** All workloads by their name, in the order in which they run. */
export const workloads: Record<string, (form: Form) => Sized> = {
  start,
  memory,
  'client-commands': clientCommands,
  'first-answer': firstAnswer,
  screen,
  turn,
  turns,
  outlive,
  commands,
  sandbox,
  'acknowledged-writes': acknowledgedWrites,
  'plain-requests': plainRequests,
  replay,
  'long-log': longLog,
  'fan-out': fanOut,
  'team-messages': teamMessages,
  'large-team': largeTeam,
  search,
  growth,
};
