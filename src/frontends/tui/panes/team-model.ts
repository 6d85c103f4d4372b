import { AppError } from '../../../api/errors.ts';
import type { RuntimeEventRecord } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import type { Message } from '../../../api/team-messages.ts';
import type { TeamView } from '../../../api/team-view.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { inputText } from '../../terminal/conversation.ts';
import type { Palette } from '../../terminal/palette.ts';
import { type Connection, follow } from '../follow.ts';
import { Observable } from '../observable.ts';
import type { Copyable, PaneModel } from './pane-model.ts';
import { Reader } from './reader.ts';
import { TeamText, memberLines } from './team-text.ts';

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
  readonly follows: Observable<boolean>;
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
    this.follows = this.reader.follows;
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
      onConnection: (connection) => this.connection.set(connection),
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

  /** The members as lines, each in one. */
  memberLines(shape: { columns: number; palette: Palette }): string[] {
    return this.#view ? memberLines(this.#view, shape) : [];
  }

  copyable(): Copyable[] {
    const last = this.#messages().at(-1);
    const text = last ? inputText([last.input].flat()) : '';
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
