import { AppError } from '../../../api/errors.ts';
import type { RuntimeEventRecord } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import type { Delivery, Message } from '../../../api/team-messages.ts';
import type { TeamView } from '../../../api/team-view.ts';
import type { Client } from '../../../client/client.ts';
import { deliveryStates } from '../../../client/delivery-states.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { inputText } from '../../../core/lib/input-text.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { markdownLines } from '../../terminal/markdown.ts';
import type { LineShape } from '../../terminal/palette.ts';
import { padded, truncated, widthOf } from '../../terminal/width.ts';
import { type Connection, follow } from '../follow.ts';
import { Observable } from '../observable.ts';
import type { Copyable, PaneModel } from './pane-model.ts';
import { ObjectCache, Reader, type Shape, type Text } from './reader.ts';

/** This many messages are read at first, and each time the reader comes to the top. */
const PAGE = 50;
/** A team in which much happens is read again at most this often. */
const AGAIN_MS = 500;

export interface TeamOptions {
  client: Client;
  clock: Clock;
  teamId: string;
}

/** A team: its members, what each of them does, and the messages. It is read again when something of it changes. */
export class TeamModel implements PaneModel {
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly seq = new Observable(0);
  readonly reader: Reader;
  readonly #options: TeamOptions;
  readonly #text = new TeamText();
  readonly #stopped = new AbortController();
  #view: TeamView | null = null;
  /** The messages before the oldest message of the view, oldest first. */
  #before: readonly Message[] = [];
  /** Where the page before those begins; null: there is none. */
  #cursor: string | null | undefined;
  #older: Promise<void> | undefined;
  #again: Disposable | undefined;

  constructor(options: TeamOptions) {
    this.#options = options;
    this.reader = new Reader(this.#text);
  }

  start(): void {
    const { client, clock } = this.#options;
    void follow({
      client,
      clock,
      // Events of a session report the work of a member.
      scope: { kinds: ['team.*', 'delivery.*', 'turn.*', 'approval.*', 'session.*'] },
      signal: this.#stopped.signal,
      begin: () => this.#read(),
      take: (events) => this.#take(events),
      connection: this.connection,
      onGap: () => this.#read(),
    });
  }

  stop(): void {
    this.#stopped.abort();
    this.#again?.[Symbol.dispose]();
  }

  older(): Promise<void> {
    if (!this.#view || this.#hasAll()) return Promise.resolve();
    this.#older ??= this.#readOlder().finally(() => (this.#older = undefined));
    return this.#older;
  }

  coverage(): string {
    const count = this.#messages().length;
    return this.#hasAll() ? 'in all messages' : `in the last ${count} messages`;
  }

  memberLines(shape: LineShape): string[] {
    return this.#view ? memberLines(this.#view, shape) : [];
  }

  copyable(): Copyable[] {
    const last = this.#messages().at(-1);
    const text = last ? textOf(last) : '';
    return [
      { name: 'last message', text },
      { name: 'visible text', text: this.reader.visibleText() },
      { name: 'team id', text: this.#options.teamId },
    ].filter((one) => one.text !== '');
  }

  #take(events: readonly RuntimeEventRecord[]): void {
    const { teamId } = this.#options;
    const members = this.#view?.members ?? [];
    const concerns = ({ team_id, session_id }: RuntimeEventRecord) =>
      team_id === teamId || members.some(({ agent_id }) => agent_id === session_id);
    if (events.some(concerns)) this.#readAgain();
  }

  #readAgain(): void {
    this.#again ??= this.#options.clock.after(AGAIN_MS, () => {
      this.#again = undefined;
      this.#read().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        if (error.code === 'unreachable') this.#readAgain();
      });
    });
  }

  async #read(): Promise<number> {
    const view = await this.#options.client.call(endpoints.getTeamView, {
      params: { team_id: this.#options.teamId },
      query: { message_limit: PAGE },
    });
    if (this.#stopped.signal.aborted) return view.latest_seq;
    // Messages that are in the view no longer are older now.
    const known = new Set(view.messages.map(({ id }) => id));
    const left = (this.#view?.messages ?? []).filter(({ id }) => !known.has(id)).toReversed();
    this.#before = [...this.#before.filter(({ id }) => !known.has(id)), ...left];
    this.#view = view;
    this.seq.set(view.latest_seq);
    this.#show(0);
    return view.latest_seq;
  }

  async #readOlder(): Promise<void> {
    const known = new Set(this.#messages().map(({ id }) => id));
    const { value, headers } = await this.#options.client.ask(endpoints.listMessages, {
      params: { team_id: this.#options.teamId },
      query: { limit: PAGE, ...(this.#cursor ? { cursor: this.#cursor } : {}) },
    });
    this.#cursor = headers['x-next-cursor']?.toString() ?? null;
    const older = value.filter(({ id }) => !known.has(id)).toReversed();
    this.#before = [...older, ...this.#before];
    this.#show(older.length);
    // The first page has the messages of the view.
    if (older.length === 0 && this.#cursor !== null) await this.#readOlder();
  }

  #messages(): readonly Message[] {
    return [...this.#before, ...(this.#view?.messages ?? []).toReversed()];
  }

  #hasAll(): boolean {
    return this.#cursor === null || this.#messages().length < PAGE;
  }

  #show(before: number): void {
    if (this.#view) this.#text.show(this.#view, this.#messages());
    this.reader.changed(before);
  }
}

/** The messages of a team as text, the newest last. */
class TeamText implements Text {
  #view: TeamView | null = null;
  #messages: readonly Message[] = [];
  readonly #rendered = new ObjectCache<Message, readonly string[]>();

  /** `messages` are in the order in which they were sent. */
  show(view: TeamView, messages: readonly Message[]): void {
    this.#view = view;
    this.#messages = messages;
  }

  count(): number {
    return this.#messages.length;
  }

  textOf(at: number): string {
    const message = this.#messages[at];
    if (!message) return '';
    return [...this.#names(message), textOf(message)].join(' ');
  }

  linesOf(at: number, shape: Shape): readonly string[] {
    const message = this.#messages[at];
    if (!message) return [];
    const deliveries = this.#view?.deliveries_by_message_id?.[message.id] ?? [];
    const { columns, palette } = shape;
    const key = `${columns} ${palette.on} ${at === 0} ${deliveryStates(deliveries)}`;
    return this.#rendered.get(message, key, () => {
      const own = this.#messageLines(message, deliveries, shape);
      return at === 0 ? own : ['', ...own];
    });
  }

  #messageLines(message: Message, deliveries: readonly Delivery[], shape: LineShape): string[] {
    const state = message.cancelled_at === null ? deliveryStates(deliveries) : 'cancelled';
    const [from, to] = this.#names(message);
    const head = [`${from} → ${to}`, timeOf(message.created_at), state].filter(Boolean).join('  ');
    return [
      shape.palette.accent(truncated(head, shape.columns)),
      ...markdownLines(textOf(message), shape),
    ];
  }

  #names({ sender_agent_id: from, recipient_agent_id: to }: Message): [from: string, to: string] {
    return [this.#nameOf(from), to === null ? 'all' : this.#nameOf(to)];
  }

  #nameOf(id: string): string {
    const member = this.#view?.members.find(({ agent_id }) => agent_id === id);
    return oneLine(member?.title ?? '') || id.slice(-8);
  }
}

/** The name of a team, and a line for each member: its state, its name, and what waits for it. */
function memberLines({ team, members }: TeamView, { columns, palette }: LineShape): string[] {
  const name = palette.strong(truncated(oneLine(team.name), columns));
  const cells = members.map((one) => ({
    state: one.state === 'waiting_for_approval' ? 'waiting' : one.state,
    name: `${oneLine(one.title ?? '') || one.agent_id.slice(-8)}${one.agent_id === team.lead_agent_id ? ' (lead)' : ''}`,
    rest: [
      one.worktree?.worktree_name ?? '',
      one.pending_deliveries > 0 ? `${one.pending_deliveries} pending` : '',
    ]
      .filter(Boolean)
      .join('  '),
  }));
  const width = Math.min(
    Math.max(8, Math.floor(columns / 2)),
    Math.max(0, ...cells.map((one) => widthOf(one.name))),
  );
  const rows = cells.map(({ state, name: who, rest }) => {
    const style =
      state === 'waiting' ? palette.warn : state === 'failed' ? palette.bad : palette.good;
    const isIdle = state === 'idle' || state === 'closed';
    const line = `${padded(state, 7)}  ${padded(who, width)}  ${rest}`.trimEnd();
    const cut = truncated(line, columns);
    return (isIdle ? palette.faint : style)(cut.slice(0, 7)) + cut.slice(7);
  });
  return [name, ...rows];
}

function textOf({ input }: Message): string {
  return inputText([input].flat());
}

/** The time of day at this terminal: `14:03`. */
function timeOf(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 5);
}
