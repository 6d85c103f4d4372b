import { endpoints } from '../../../src/api/index.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { replay } from '../../../src/client/replay.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/** How a server of the campaign is started. */
export interface NodeOptions {
  /** The addresses of NATS. */
  urls: readonly string[];
  env?: Record<string, string>;
}

/** A server of the fleet in a process of its own. An event that it has shown to a client must never be missing. */
export class CampaignNode {
  readonly name: string;
  readonly directory: string;
  /** Every event that it has shown, by seq. */
  readonly shown = new Map<number, string>();
  readonly #options: NodeOptions;
  #server: TestServer | undefined;
  #recording = new AbortController();
  #hasDied = false;

  constructor(name: string, directory: string, options: NodeOptions) {
    this.name = name;
    this.directory = directory;
    this.#options = options;
  }

  get server(): TestServer {
    if (!this.#server) throw new Error(`${this.name} does not run`);
    return this.#server;
  }

  /** Starts the server, and notes what it shows. `failpoints` as CADRE_FAILPOINTS has them. */
  async start(failpoints = ''): Promise<this> {
    this.#server = await startServer(this.directory, {
      env: {
        CADRE_FLEET_URL: this.#options.urls.join(','),
        CADRE_FLEET_NAME: this.name,
        CADRE_FLEET_FLEET: 'test',
        CADRE_FAILPOINTS: failpoints,
        ...this.#options.env,
      },
    });
    this.#hasDied = false;
    void this.#server.exited.then(() => (this.#hasDied = true));
    this.#record(this.#server);
    return this;
  }

  /** Ends the server by a signal; resolves when it is gone. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#recording.abort();
    await server?.end(signal);
  }

  /** Whether the server has ended by itself. */
  get hasDied(): boolean {
    return this.#hasDied;
  }

  async state(): Promise<{ state: string; detail?: string | undefined } | undefined> {
    return (await this.server.client.call(endpoints.getHealth, {})).fleet;
  }

  /** The id of its log, and the newest seq in it. */
  async log(): Promise<{ epoch: string; last: number }> {
    const { client } = this.server;
    const { epoch } = await client.call(endpoints.getVersion, {});
    let last = 0;
    for await (const { seq } of this.stored(Math.max(0, ...this.shown.keys()) - 1)) last = seq;
    return { epoch, last };
  }

  /** All that it has shown, and all that it has stored by now, by seq. */
  async expected(): Promise<Map<number, string>> {
    const all = new Map(this.shown);
    for await (const event of this.stored(0))
      if (!all.has(event.seq)) all.set(event.seq, JSON.stringify(event));
    return all;
  }

  async *stored(from: number) {
    let after = Math.max(0, from);
    for (;;) {
      const { value } = await replay(this.server.client, {}, { after_seq: after, limit: 5000 });
      const last = value.at(-1);
      if (!last) return;
      yield* value;
      after = last.seq;
    }
  }

  #record({ client }: TestServer): void {
    this.#recording = new AbortController();
    const { signal } = this.#recording;
    const after = Math.max(0, ...this.shown.keys());
    void (async () => {
      const events = streamEvents({ client, clock: systemClock, after, signal });
      for await (const event of events) this.shown.set(event.seq, JSON.stringify(event));
    })().catch(() => undefined);
  }
}
