import type { TurnInEvents } from '../api/event-kinds/sessions.ts';
import { type EventOf, isDescribed, type RuntimeEventRecord } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { requestedApproval } from '../client/requested-approval.ts';
import { streamEvents } from '../client/stream.ts';
import { ApprovalAsker } from './ask-approval.ts';
import type { GlobalOptions } from './context.ts';
import { exitCodes } from './exit.ts';
import { plain } from './output.ts';
import type { World } from './world.ts';

/**
 * Streams a turn to its end: the agent's messages to stdout and its tool calls to stderr; with `--json` every event to
 * stdout, as a line. Asks for approvals on the terminal. INT and TERM interrupt the turn; a second one ends the command at
 * once. Sets the exit code by the outcome of the turn.
 */
export async function followTurn(
  world: World,
  options: GlobalOptions,
  client: Client,
  accepted: { session_id: string; turn_id: string },
): Promise<void> {
  const { session_id, turn_id } = accepted;
  const signal = world.interrupted();
  const interrupt = () => {
    world.stderr.write('\ncadre: interrupting the turn; once more leaves it alone\n');
    client.call(endpoints.interruptTurn, { params: accepted, body: {} }).catch(() => undefined);
  };
  signal.addEventListener('abort', interrupt, { once: true });
  const asker = new ApprovalAsker(world, client);
  const write = options.json ? jsonWriter(world) : textWriter(world, asker);
  const events = streamEvents({
    client,
    clock: world.clock,
    sessionId: session_id,
    after: await startOf(client, accepted),
    onConnection: (state) =>
      world.stderr.write(
        state.lost ? 'cadre: the connection was lost: trying again\n' : 'cadre: connected again\n',
      ),
  });
  for await (const event of events) {
    if (event.turn_id !== turn_id) continue;
    write(event);
    if (!isEnding(event)) continue;
    signal.removeEventListener('abort', interrupt);
    const { turn } = event.payload;
    if (turn.status !== 'completed' && !options.json)
      world.stderr.write(`cadre: ${howItEnded(turn)}\n`);
    world.exit(signal.aborted ? Number(signal.reason) : exitCodeOf(turn));
    return;
  }
}

type TurnEnding = EventOf<'turn.completed' | 'turn.interrupted' | 'turn.failed'>;

function isEnding(event: RuntimeEventRecord): event is TurnEnding {
  return ['turn.completed', 'turn.interrupted', 'turn.failed'].includes(event.kind);
}

function howItEnded({ status, error }: TurnInEvents): string {
  const how = status === 'failed' ? 'the turn failed' : 'the turn was interrupted';
  return error ? `${how}: ${plain(error.message)}` : how;
}

function exitCodeOf({ status, error }: TurnInEvents): number {
  if (status === 'completed') return exitCodes.ok;
  return error?.code === 'permission_required' ? exitCodes.refused : exitCodes.failed;
}

/** A seq after which the session's stream contains the whole turn. */
async function startOf(
  client: Client,
  { session_id, turn_id }: { session_id: string; turn_id: string },
): Promise<number> {
  let after = 0;
  for (;;) {
    const { value, headers } = await client.ask(endpoints.replaySessionEvents, {
      params: { session_id },
      query: { after_seq: after },
    });
    const accepted = value.find((event) => event.turn_id === turn_id);
    if (accepted) return accepted.seq - 1;
    const next = headers['x-next-after-seq'];
    if (next === undefined || value.length === 0) return after;
    after = Number(next);
  }
}

function jsonWriter({ stdout }: World): (event: RuntimeEventRecord) => void {
  return (event) => stdout.write(`${JSON.stringify(event)}\n`);
}

/** Writes messages as they grow, and one line for each tool call. */
function textWriter(
  { stdout, stderr }: World,
  asker: ApprovalAsker,
): (event: RuntimeEventRecord) => void {
  const shown = new Map<string, number>();
  return (event) => {
    if (!isDescribed(event)) return;
    const { kind, payload } = event;
    switch (kind) {
      case 'message.delta': {
        const { item_id, offset, text } = payload;
        stdout.write(plain(text));
        shown.set(item_id, offset + Buffer.byteLength(text));
        break;
      }
      case 'message.completed': {
        // Some deltas, or all, are missing where the stream began late or was interrupted.
        const rest = Buffer.from(payload.text).subarray(shown.get(payload.item_id) ?? 0);
        stdout.write(`${plain(rest.toString('utf8'))}\n`);
        break;
      }
      case 'tool.completed': {
        const { status, tool } = payload;
        const title = tool?.title ?? 'a tool';
        stderr.write(`[${status === 'completed' ? 'done' : status}] ${plain(title)}\n`);
        break;
      }
      case 'approval.requested':
        asker.asked(requestedApproval(payload));
        break;
      case 'approval.resolved':
        asker.resolved(payload.approval);
        break;
      default:
    }
  };
}
