import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProviderError } from '../../../src/agents/provider.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openRuntime, type TestRuntime } from '../../support/runtime.ts';
import { scriptedProvider, type ScriptedTurn } from '../../support/scripted-provider.ts';
import { withTimeout } from '../../support/sessions/with-timeout.ts';
import { tempDirectory } from '../../support/temp.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

export interface HttpAnswer {
  status: number;
  isReplayed: boolean;
  body: Record<string, unknown>;
}

/** Retention deletes the events of sessions that were closed so many days ago. No program lasts so long. */
export const KEPT_DAYS = 60;

const config = {
  data: { durability: 'normal' },
  retention: { max_age_days: KEPT_DAYS },
  approvals: { timeout_ms: 60_000 },
  sessions: { turn_timeout_ms: 3_600_000 },
};

/** A real server in this process, on real files, over all its runs. Its agents do what the test says. */
export class Server implements AsyncDisposable {
  readonly #root = tempDirectory('model');
  readonly #http = new http.Agent({ keepAlive: true });
  /** The directory for sessions, outside of any repository. */
  readonly cwd = path.join(this.#root.path, 'cwd');
  readonly events: UntypedEvent[] = [];
  /** The turns that each session's agents have got. */
  readonly turns = new Map<string, ScriptedTurn[]>();
  /** The errors with which the next agents refuse to start. */
  readonly refusals: ProviderError['code'][] = [];
  clock: ManualClock;
  #runs = 0;
  /** Resolves once the server has started. Agents start after that, so that the order of the events is certain. */
  #isOpen = Promise.withResolvers<void>();
  #given!: TestRuntime;
  #provider!: ReturnType<typeof scriptedProvider>;
  #stream: Stream | undefined;
  #news = Promise.withResolvers<void>();

  private constructor(at: number) {
    fs.mkdirSync(this.cwd);
    this.clock = new ManualClock(at);
  }

  static async open(at: number): Promise<Server> {
    const server = new Server(at);
    await server.#start();
    await server.until(
      () => server.events.some(({ kind }) => kind === 'runtime.recovered'),
      () => 'the server did not start',
    );
    return server;
  }

  async #start(): Promise<void> {
    this.#isOpen = Promise.withResolvers<void>();
    this.refusals.length = 0;
    this.#provider = scriptedProvider({
      capabilities: { approvals: true },
      opening: async () => {
        const code = this.refusals.shift();
        await this.#isOpen.promise;
        if (code !== undefined) throw new ProviderError(code, 'not now');
      },
      onTurn: (turn) => {
        const turns = this.turns.get(turn.session.id) ?? [];
        this.turns.set(turn.session.id, [...turns, turn]);
        this.#wake();
      },
    });
    this.#given = await openRuntime(this.#directory, {
      config,
      clock: this.clock,
      providers: [this.#provider],
    });
    this.#stream = new Stream(this.#given, this.events.at(-1)?.seq ?? 0, (event) => {
      this.events.push(event);
      this.#wake();
    });
    this.#isOpen.resolve();
  }

  get #directory(): string {
    return path.join(this.#root.path, `life-${this.#runs}`);
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** Resolves once `isThere` returns true. It is called again after each event and each turn of an agent. */
  async until(isThere: () => boolean, what: () => string): Promise<void> {
    const wait = async () => {
      while (!isThere()) await this.#news.promise;
    };
    if (!isThere())
      await withTimeout(wait(), 'what the model expects').catch((error: unknown) => {
        throw new Error(what(), { cause: error });
      });
  }

  request(
    method: string,
    where: string,
    body?: string,
    key: string | null = null,
  ): Promise<HttpAnswer> {
    const { url, token } = this.#given;
    const { hostname, port } = new URL(url);
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === null ? {} : { 'idempotency-key': key }),
    };
    return new Promise((resolve, reject) => {
      const request = http.request(
        { hostname, port, method, path: where, headers, agent: this.#http },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(parts).toString();
            resolve({
              status: response.statusCode ?? 0,
              isReplayed: response.headers['idempotency-replayed'] === 'true',
              body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
            });
          });
        },
      );
      request.once('error', reject);
      request.end(body);
    });
  }

  /** Stops the server in order, or leaves its files as a SIGKILL would, and starts it again after some time. */
  async restart(how: 'stop' | 'crash', downMs: number): Promise<void> {
    const at = this.clock.now() + downMs;
    if (how === 'stop') await this.#end();
    else {
      const from = this.#directory;
      this.#stream?.cut();
      const end = this.#runs + 1;
      fs.cpSync(from, path.join(this.#root.path, `life-${end}`), { recursive: true });
      await this.#end();
      fs.rmSync(from, { recursive: true });
      this.#runs = end;
    }
    this.clock = new ManualClock(at);
    await this.#start();
  }

  async #end(): Promise<void> {
    this.#given.client.close();
    this.#provider.drop();
    this.clock.runFree();
    await this.#given.runtime.stop(AbortSignal.abort());
    this.clock.stop();
    await this.#stream?.over;
    this.#http.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    this.#root[Symbol.dispose]();
  }
}

/** The event stream of a server, from a position. */
class Stream {
  readonly over: Promise<void>;
  readonly #request: http.ClientRequest;
  #isCut = false;

  constructor({ url, token }: TestRuntime, after: number, take: (event: UntypedEvent) => void) {
    const over = Promise.withResolvers<void>();
    this.over = over.promise;
    const headers = { authorization: `Bearer ${token}` };
    const where = `${url}/v1/events/stream?after_seq=${after}`;
    this.#request = http.get(where, { headers, agent: false }, (response) => {
      let rest = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        const frames = (rest + part).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const data = frame.split('\n').find((line) => line.startsWith('data: '));
          if (data !== undefined && !this.#isCut)
            take(JSON.parse(data.slice('data: '.length)) as UntypedEvent);
        }
      });
      response.once('close', over.resolve);
    });
    this.#request.once('error', () => over.resolve());
  }

  cut(): void {
    this.#isCut = true;
    this.#request.destroy();
  }
}

/** Lets all that is due in this process run, so that what should not come has the time to come. */
export async function quiet(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}
