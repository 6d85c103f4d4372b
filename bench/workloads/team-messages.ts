import { type Address, ask, createSession, sendTurn } from '../client/http.ts';
import { Stream } from '../client/stream.ts';
import { together } from '../client/together.ts';
import { withBareServer, withServer } from '../subject.ts';
import { workload } from '../workload.ts';

const CLIENTS = 16;
/** How long the members are at work when the messages come. */
const BUSY_MS = 4000;

interface Size {
  members: number;
  messages: number;
}

/** Messages to members that are busy: what waits for a member becomes one turn. */
export const teamMessages = workload<Size>({
  about: `the rate at which ${CLIENTS} clients send messages to team members that are busy for ${BUSY_MS} ms (full: 1,000 messages to 50 members, short: 100 to 5). The baseline writes the same number of messages to a file, and runs one turn for each member`,
  needs: 'server',
  units: { 'messages accepted': '/s', 'turns for each member': 'x', 'until all have ended': 'ms' },
  sizes: {
    short: { members: 5, messages: 100 },
    full: { members: 50, messages: 1000 },
  },
  server: (context, size) =>
    withServer(context, async (server) => {
      const team = await teamOf(server, context.directory, size.members);
      const turns = new TurnCount();
      const stream = await Stream.open(server, '/v1/events/stream?after_seq=0', turns.take);
      // The first starts the agents, in the second they are busy.
      await turns.after(size.members, () => prompt(server, team.members, 'words 1'));
      await prompt(server, team.members, `rest ${BUSY_MS}`);
      const before = turns.ended;
      const at = performance.now();
      const { perSecond } = await sendAll(server, team, size);
      await turns.consumed(size.messages);
      const all = performance.now() - at - BUSY_MS;
      stream.close();
      return {
        'messages accepted': perSecond,
        'turns for each member': (turns.ended - before) / size.members - 1,
        'until all have ended': Math.max(0, all),
      };
    }),
  bare: (directory, { messages }) =>
    withBareServer(directory, async (server) => {
      const send = () => ask(server, 'POST', '/append', { text: 'hello '.repeat(20) });
      const { perSecond } = await together(CLIENTS, messages, send);
      return { 'messages accepted': perSecond, 'turns for each member': 1 };
    }),
});

interface Team {
  id: string;
  lead: string;
  members: string[];
}

async function teamOf(server: Address, cwd: string, count: number): Promise<Team> {
  const lead = await createSession(server, cwd);
  const members: string[] = [];
  for (let n = 0; n < count; n++) members.push(await createSession(server, cwd));
  const body = { name: 'busy', lead_agent_id: lead, member_agent_ids: members };
  const { team } = await ask<{ team: { id: string } }>(server, 'POST', '/v1/teams', body);
  return { id: team.id, lead, members };
}

function prompt(server: Address, members: readonly string[], text: string): Promise<unknown> {
  return Promise.all(members.map((member) => sendTurn(server, member, text)));
}

function sendAll(server: Address, { id, lead, members }: Team, { messages }: Size) {
  return together(CLIENTS, messages, (_client, n) =>
    ask(server, 'POST', `/v1/teams/${id}/messages`, {
      sender_agent_id: lead,
      recipient_agent_id: members[n % members.length],
      input: { type: 'text', text: 'hello '.repeat(20) },
    }),
  );
}

/** Counts the ends of turns and the messages that completed turns have brought. */
class TurnCount {
  ended = 0;
  #consumed = 0;
  #look: () => void = () => undefined;

  readonly take = ({ kind }: { kind: string }): void => {
    if (kind === 'turn.completed') this.ended++;
    if (kind === 'delivery.consumed') this.#consumed++;
    this.#look();
  };

  async after(turns: number, run: () => Promise<unknown>): Promise<void> {
    await run();
    await this.#until(() => this.ended >= turns);
  }

  consumed(count: number): Promise<void> {
    return this.#until(() => this.#consumed >= count);
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (isSo()) resolve();
      };
      this.#look();
    });
  }
}
