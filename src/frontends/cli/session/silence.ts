import { isDescribed, type RuntimeEventRecord } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { plain } from '../output.ts';
import type { CommandContext } from '../command-io.ts';
import type { TurnOutput } from './turn-output.ts';

/** An agent that has shown nothing of a turn for this time is silent. */
const SILENT_MS = 5000;

/** Writes once for each turn what the turn waits for, if its agent has shown nothing for five seconds. */
export class SilenceNote implements Disposable {
  readonly #context: Pick<CommandContext, 'client' | 'io'>;
  readonly #session: string;
  readonly #output: Pick<TurnOutput, 'status'>;
  #wait: Disposable | undefined;
  /** The turn that has shown nothing yet. */
  #turn: string | null = null;

  constructor(
    context: Pick<CommandContext, 'client' | 'io'>,
    session: string,
    output: Pick<TurnOutput, 'status'>,
  ) {
    this.#context = context;
    this.#session = session;
    this.#output = output;
  }

  take(event: RuntimeEventRecord): void {
    if (!isDescribed(event) || event.turn_id === null) return;
    if (event.kind === 'turn.accepted') this.#begin(event.turn_id);
    else if (event.kind !== 'turn.started' && event.turn_id === this.#turn) this.#end();
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #begin(turn: string): void {
    this.#end();
    this.#turn = turn;
    this.#wait = this.#context.io.clock.after(SILENT_MS, () => void this.#write(turn));
  }

  #end(): void {
    this.#turn = null;
    this.#wait?.[Symbol.dispose]();
  }

  async #write(turn: string): Promise<void> {
    const reason = await this.#reason().catch(() => null);
    if (reason !== null && this.#turn === turn) this.#output.status(`[waiting] ${plain(reason)}\n`);
  }

  async #reason(): Promise<string> {
    const { client } = this.#context;
    const session = await client.call(endpoints.getSession, {
      params: { session_id: this.#session },
    });
    const { agents } = await client.call(endpoints.getDiagnostics, {});
    const slot = agents?.waiting.find(({ session_id }) => session_id === session.id);
    if (slot) return `no agent slot is free: ${slot.reason}`;
    const providers = await client.call(endpoints.listProviders, {});
    const provider = providers.find(({ id }) => id === session.provider);
    const named = provider?.agents.find(({ name }) => name === session.agent);
    const isLoggedOut = (named ? named.auth.authenticated : provider?.logged_in) === false;
    return `${agentOf(session)}: ${isLoggedOut ? (named ?? provider)?.detail : 'the agent has not answered yet'}`;
  }
}
