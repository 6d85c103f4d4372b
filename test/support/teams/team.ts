import type { Session } from '../../../src/api/sessions.ts';
import type { Delivery, Message } from '../../../src/api/team-messages.ts';
import type { TeamView } from '../../../src/api/team-view.ts';
import type { Member, Team, TeamWithMembers } from '../../../src/api/teams.ts';
import type { TurnOutcome } from '../../../src/agents/provider.ts';
import type { ScriptedTurn } from '../scripted-provider.ts';
import {
  type Refusal,
  type Reply,
  type Harness,
  type HarnessOptions,
  testHarness,
} from '../sessions/harness.ts';
import type { UntypedEvent } from '../untyped-events.ts';

export const completed: TurnOutcome = { status: 'completed', error: null };
export const interrupted: TurnOutcome = { status: 'interrupted', error: null };
export const failed: TurnOutcome = {
  status: 'failed',
  error: { code: 'model_error', message: 'no' },
};

export type Sent = { message: Message; deliveries: Delivery[] };

/** Calls for one team and its agents; the first agent is the lead. */
export interface TeamHarness {
  harness: Harness;
  team: Team;
  members: Member[];
  agents: [lead: Session, ...others: Session[]];
  /** Where its routes are. */
  path: string;
  /** Says something, from the lead to the second where nothing else is said; anything but 200 throws. */
  say(text: string, more?: object): Promise<{ message: Message; delivery: Delivery }>;
  trySay(body: object): Promise<Reply<Sent & Refusal>>;
  broadcast(text: string, more?: object): Promise<Reply<Sent & Refusal>>;
  delivery(id: string): Promise<Delivery>;
  retry(delivery: { id: string }): Promise<Reply<Delivery & Refusal>>;
  cancel(message: { id: string }): Promise<Reply<Message & Refusal>>;
  view(query?: string): Promise<TeamView>;
  /** The kinds of the events of a delivery so far, without `delivery.`. */
  movesOf(delivery: { id: string }): Promise<string[]>;
  /** Completes a turn, or the next one; resolves once its delivery is consumed. */
  consumed(delivery: { id: string }, turn?: ScriptedTurn): Promise<UntypedEvent>;
  /** Resolves once a delivery has made a move. */
  moved(delivery: { id: string }, kind: string): Promise<UntypedEvent>;
}

/** Makes a team of so many sessions. */
export async function makeTeam(harness: Harness, size = 2): Promise<TeamHarness> {
  const agents: Session[] = [];
  for (let i = 0; i < size; i++) agents.push(await harness.open({ title: `agent ${i}` }));
  const [lead, ...others] = agents.map(({ id }) => id);
  const made = await harness.post<TeamWithMembers>('/v1/teams', {
    name: 'the team',
    lead_agent_id: lead,
    member_agent_ids: others,
  });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  return teamHarnessOf(harness, made.body, agents);
}

/** Makes such a team on its own harness, which is closed when the test has finished. */
export async function testTeam(
  size = 2,
  options?: HarnessOptions,
): Promise<TeamHarness & { teamHarness: TeamHarness }> {
  const teamHarness = await makeTeam(await testHarness(options), size);
  return { ...teamHarness, teamHarness };
}

/** Returns the calls for an existing team, such as after a restart. */
export function teamHarnessOf(
  harness: Harness,
  { team, members }: TeamWithMembers,
  agents: Session[],
): TeamHarness {
  const path = `/v1/teams/${team.id}`;
  const deliveries = async () =>
    (await harness.get<Delivery[]>(`${path}/deliveries?limit=500`)).body;
  const trySay = (body: object) => harness.post<Sent & Refusal>(`${path}/messages`, body);
  const moved: TeamHarness['moved'] = ({ id }, kind) =>
    harness.until(
      (event) =>
        event.kind === `delivery.${kind}` &&
        (event.payload.delivery as Delivery | undefined)?.id === id,
    );
  return {
    harness,
    team,
    members,
    agents: agents as TeamHarness['agents'],
    path,
    trySay,
    async say(text, more = {}) {
      const { status, body } = await trySay({
        sender_agent_id: agents[0]?.id,
        recipient_agent_id: agents[1]?.id,
        input: { type: 'text', text },
        ...more,
      });
      const [delivery] = body.deliveries ?? [];
      if (status !== 200 || !delivery) throw new Error(JSON.stringify(body));
      return { message: body.message, delivery };
    },
    broadcast: (text, more = {}) =>
      harness.post<Sent & Refusal>(`${path}/broadcasts`, {
        sender_agent_id: agents[0]?.id,
        input: { type: 'text', text },
        ...more,
      }),
    async delivery(id) {
      const found = (await deliveries()).find((one) => one.id === id);
      if (!found) throw new Error(`no delivery ${id}`);
      return found;
    },
    retry: ({ id }) => harness.post<Delivery & Refusal>(`${path}/deliveries/${id}/retry`),
    cancel: ({ id }) => harness.post<Message & Refusal>(`${path}/messages/${id}/cancel`),
    view: async (query = '') => (await harness.get<TeamView>(`${path}/view${query}`)).body,
    async movesOf({ id }) {
      const { body } = await harness.get<UntypedEvent[]>(`${path}/events?limit=10000`);
      return body
        .filter(({ payload }) => (payload.delivery as Delivery | undefined)?.id === id)
        .map(({ kind }) => kind.replace('delivery.', ''));
    },
    async consumed(delivery, turn) {
      (turn ?? (await harness.provider.nextTurn())).end(completed);
      return moved(delivery, 'consumed');
    },
    moved,
  };
}

/** The ids of the messages that an agent has received, in order. */
export function messageIdsIn(text: string): string[] {
  return [...text.matchAll(/<team_message id="(msg_[0-9a-f]+)"/g)].map(([, id]) => id ?? '');
}
