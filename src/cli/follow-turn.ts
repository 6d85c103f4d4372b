import type { RuntimeEventRecord } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import type { Turn } from '../api/sessions.ts';
import type { Client } from '../client/client.ts';
import { streamEvents } from '../client/stream.ts';
import type { GlobalOptions } from './context.ts';
import { exitCodes } from './exit.ts';
import { plain } from './output.ts';
import type { World } from './world.ts';

/**
 * Streams a turn to its end: what the agent says on stdout, what it does on stderr; with `--json` every event
 * as a line on stdout. Sets the exit code by how the turn ended.
 */
export async function followTurn(
  world: World,
  options: GlobalOptions,
  client: Client,
  accepted: { session_id: string; turn_id: string },
): Promise<void> {
  const { session_id, turn_id } = accepted;
  const signal = world.interrupted();
  const write = options.json ? jsonWriter(world) : textWriter(world);
  const events = streamEvents({
    client,
    clock: world.clock,
    sessionId: session_id,
    after: await startOf(client, accepted),
    signal,
    onConnection: (state) =>
      world.stderr.write(
        state.lost ? 'cadre: the connection was lost: trying again\n' : 'cadre: connected again\n',
      ),
  });
  for await (const event of events) {
    if (event.turn_id !== turn_id) continue;
    write(event);
    if (!['turn.completed', 'turn.interrupted', 'turn.failed'].includes(event.kind)) continue;
    const turn = event.payload.turn as Turn;
    if (turn.status !== 'completed' && !options.json) {
      world.stderr.write(
        `cadre: the turn ${turn.status === 'failed' ? 'failed' : 'was interrupted'}: ${plain(turn.error?.message ?? '')}\n`,
      );
    }
    world.exit(turn.status === 'completed' ? exitCodes.ok : exitCodes.failed);
    return;
  }
  world.exit(Number(signal.reason));
}

/** A seq from which the session's stream has the whole turn: all of the session's, which is short or far back. */
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

/** The agent's words as they come; its tools, one line each, beside them. */
function textWriter({ stdout, stderr }: World): (event: RuntimeEventRecord) => void {
  const shown = new Map<string, number>();
  return ({ kind, payload }) => {
    const id = String(payload.item_id);
    switch (kind) {
      case 'message.delta':
        stdout.write(plain(String(payload.text)));
        shown.set(id, Number(payload.offset) + Buffer.byteLength(String(payload.text)));
        break;
      case 'message.completed': {
        // Whoever came late has no deltas; whoever lost the connection has some.
        const rest = Buffer.from(String(payload.text))
          .subarray(shown.get(id) ?? 0)
          .toString('utf8');
        stdout.write(`${plain(rest)}\n`);
        break;
      }
      case 'tool.completed': {
        const { title } = payload.tool as { title: string };
        stderr.write(
          `[${payload.status === 'completed' ? 'done' : String(payload.status)}] ${plain(title)}\n`,
        );
        break;
      }
      default:
    }
  };
}
