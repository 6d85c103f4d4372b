import type { Delivery, Message } from '../../../src/api/team-messages.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import type { ScriptedTurn } from '../../support/scripted-provider.ts';
import { completed, failed, messageIdsIn } from '../../support/teams/team.ts';
import type { Core } from './core.ts';
import type { Policy } from './state.ts';

/** One of the things that happen at the same time around a member of a team. */
export type Move =
  | Policy
  | 'end'
  | 'fail'
  | 'lose agent'
  | 'interrupt'
  | 'send'
  | 'queue'
  | 'retry time'
  | 'cancel'
  | 'leave'
  | 'close'
  | 'stop';

/** Chooses the next step among so many that are possible. */
export type Choose = (count: number) => number;

const said = { input: { type: 'text' as const, text: 'go' } };

/** One race: a sender and a recipient in a team, and all that happens to the recipient. */
export class Race {
  readonly #core: Core;
  readonly #sender: Session;
  readonly recipient: Session;
  readonly team: string;
  readonly #first: number;
  /** The steps that were chosen. */
  steps = 0;

  private constructor(core: Core, sender: Session, recipient: Session, team: string) {
    this.#core = core;
    this.#sender = sender;
    this.recipient = recipient;
    this.team = team;
    this.#first = core.turns.length;
  }

  /** Opens a team whose second member is at a turn, or idle. */
  static async open(core: Core, isBusy: boolean): Promise<Race> {
    core.gate.isHeld = false;
    const { service } = core.components.sessions;
    const session = () =>
      service.create({ provider: 'acp', cwd: core.cwd, permission_mode: 'require_approval' });
    const [sender, recipient] = [await session(), await session()];
    const { team } = await core.components.teams.service.create({
      name: 'x',
      lead_agent_id: sender.id,
      member_agent_ids: [recipient.id],
    });
    const race = new Race(core, sender, recipient, team.id);
    if (isBusy) await service.send(recipient.id, said);
    await core.gate.quiet();
    return race;
  }

  /** Runs moves at the same time, one step after the other in the order that `choose` says. */
  async run(moves: readonly Move[], choose: Choose, end = Infinity): Promise<void> {
    const { gate } = this.#core;
    gate.isHeld = true;
    const done = moves.map(async (move) => {
      await gate.pass();
      await this.#make(move).catch((error: unknown) => {
        // A move that comes too late is refused, as a client's request is.
        if (!(error instanceof Error) || error.name !== 'AppError') throw error;
      });
    });
    for (await gate.quiet(); gate.count > 0 && this.steps < end; await gate.quiet()) {
      this.steps += 1;
      gate.release(choose(gate.count));
    }
    if (this.steps < end) await Promise.all(done);
  }

  async #make(move: Move): Promise<void> {
    const { sessions, teams, queue } = this.#core.components;
    const { id } = this.recipient;
    const agent = () => this.#turns.at(-1);
    switch (move) {
      case 'end':
        return agent()?.end(completed);
      case 'fail':
        return agent()?.end(failed);
      case 'lose agent':
        this.#core.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
        agent()?.agent.die('has died');
        return agent()?.end(failed);
      case 'interrupt':
        await sessions.service.interrupt(id, this.#session.active_turn_id ?? 'turn_none');
        return;
      case 'send':
        await sessions.service.send(id, said);
        return;
      case 'queue':
        await queue.add(id, said, 'api');
        return;
      case 'retry time':
        return this.#core.clock.advance(1000);
      case 'cancel': {
        const [message] = await this.#messages();
        if (message) await teams.messages.cancel(this.team, message.id);
        return;
      }
      case 'leave':
        await teams.service.removeMember(this.team, id);
        return;
      case 'close':
        await sessions.service.close(id, null);
        return;
      case 'stop':
        sessions.inbox.stop();
        return sessions.runner.stop(0, AbortSignal.abort());
      default:
        await teams.messages.send(this.team, {
          ...said,
          sender_agent_id: this.#sender.id,
          recipient_agent_id: id,
          policy: move,
        });
    }
  }

  /** Ends all turns, and wakes a session that a person has stopped; then checks every delivery. */
  async judge(): Promise<void> {
    const { gate, components } = this.#core;
    gate.isHeld = false;
    await gate.quiet();
    this.#assertAwake();
    for (let round = 0; round < 20; round++) {
      const turn = this.#turns.at(-1);
      turn?.end(completed);
      await gate.quiet();
      this.#assertAwake();
      if (this.#isBusy() || this.#turns.at(-1) !== turn) continue;
      this.#core.clock.advance(1000);
      await gate.quiet();
      if (this.#isBusy()) continue;
      if (this.#isDone()) break;
      await components.sessions.service.send(this.recipient.id, said).catch(() => undefined);
      await gate.quiet();
    }
    await this.#assertDelivered();
    await components.sessions.service.close(this.recipient.id, null);
    await components.sessions.service.close(this.#sender.id, null);
    await gate.quiet();
  }

  #isBusy(): boolean {
    return this.#session.active_turn_id !== null;
  }

  #isDone(): boolean {
    const { base, components } = this.#core;
    const { inbox } = components.sessions;
    const { id } = this.recipient;
    return base.db.peek((rx) => !inbox.entries.hasNext(rx, id));
  }

  /** No session that could begin its next turn has something to begin it with. */
  #assertAwake(): void {
    const { base, components } = this.#core;
    const { inbox } = components.sessions;
    const { id } = this.recipient;
    const sleeps = base.db.peek((rx) => inbox.isFree(rx, id) && inbox.entries.hasNext(rx, id));
    if (sleeps) throw new Error('the session sleeps, although something waits for it');
  }

  /** Each message that was stored has come to one end, and the agent has got it once or, where it failed, never. */
  async #assertDelivered(): Promise<void> {
    const { records } = await this.#core.components.teams.messages.deliveries(this.team, {
      limit: 500,
    });
    const receivedIds = this.receivedIds();
    for (const delivery of records) {
      const times = receivedIds.filter((id) => id === delivery.message_id).length;
      const problem = faultOf(delivery, times);
      if (problem !== null)
        throw new Error(`${problem}: ${JSON.stringify(delivery)}, in ${times} turns`);
    }
  }

  /** The ids of the messages that the agent of the recipient has got, in order. */
  receivedIds(): string[] {
    return this.#turns.flatMap(({ text }) => messageIdsIn(text));
  }

  async #messages(): Promise<Message[]> {
    return (await this.#core.components.teams.messages.list(this.team, { limit: 500 })).records;
  }

  get #session(): Session {
    const { base, components } = this.#core;
    return base.db.peek((rx) => components.sessions.store.session(rx, this.recipient.id));
  }

  get #turns(): ScriptedTurn[] {
    const { id } = this.recipient;
    return this.#core.turns.slice(this.#first).filter(({ session }) => session.id === id);
  }
}

/**
 * Returns what is wrong with a delivery whose message an agent has got so many times; null if nothing is. `isCut`: the
 * server was killed, so that a turn may have failed which was stored as started, and which no agent has got.
 */
export function faultOf(
  { status, consumed_at, error }: Delivery,
  times: number,
  { isCut = false } = {},
): string | null {
  if (status !== 'injected' && status !== 'failed' && status !== 'cancelled')
    return 'the delivery did not end';
  if (status !== 'injected') return times === 0 ? null : 'an agent got a message that failed';
  if (isCut && error !== null && times === 0) return null;
  if (times !== 1) return 'the agent did not get the message once';
  return (consumed_at === null) === (error === null)
    ? 'the delivery has neither an end nor an error'
    : null;
}

/** All interleavings of a number of choices, depth first: each call of `next` gives the choices of another one. */
export class Interleavings {
  #path: { taken: number; of: number }[] = [];
  #at = 0;
  #isOver = false;

  /** Returns the chooser of the next interleaving; null if there is no other. */
  next(): Choose | null {
    if (this.#isOver) return null;
    this.#at = 0;
    return (of) => {
      const known = this.#path[this.#at];
      const choice = known ?? { taken: 0, of };
      if (!known) this.#path.push(choice);
      if (choice.of !== of) throw new Error('the same choices had another outcome');
      this.#at += 1;
      return choice.taken;
    };
  }

  /** Goes to the next interleaving. Must be called when the one before is over. */
  advance(): void {
    while (this.#path.length > 0) {
      const last = this.#path.at(-1);
      if (last && last.taken + 1 < last.of) {
        last.taken += 1;
        return;
      }
      this.#path.pop();
    }
    this.#isOver = true;
  }
}
