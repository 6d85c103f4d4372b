import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

/** A server of any version of cadre, which is asked over plain HTTP: its client is not the one of this version. */
export class OldServer {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #token: string;
  /** The requests that this version does not know or refuses, with its answer. */
  readonly refused: string[] = [];

  private constructor(child: ChildProcess, url: string, token: string) {
    this.#child = child;
    this.#url = url;
    this.#token = token;
  }

  /** Starts the bundle of a version with its demo agent. Rejects with its log. */
  static async start(bundle: string, directory: string): Promise<OldServer> {
    const flags = ['--json', '--data-dir', directory, 'serve', '--port', '0', '--demo'];
    const child = spawn(process.execPath, [bundle, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH ?? '',
        HOME: path.dirname(directory),
        CADRE_DEMO_STATE: path.join(directory, 'demo-agent'),
      },
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    const lines = createInterface({ input: child.stdout });
    const ready = await Promise.race([
      once(lines, 'line').then(([line]) => String(line)),
      once(child, 'exit').then(() => Promise.reject(new Error(log))),
    ]);
    const { url, token_file: file } = JSON.parse(ready) as { url: string; token_file: string };
    return new OldServer(child, url, fs.readFileSync(file, 'utf8').trim());
  }

  /** Returns the response of a GET. Undefined if this version does not know the path. */
  async get(pathname: string): Promise<unknown> {
    return this.#request('GET', pathname);
  }

  /** Sends a request and returns its response. Undefined if this version does not know the path or the body. */
  async send(method: string, pathname: string, body: unknown): Promise<Answer | undefined> {
    const answer = await this.#request(method, pathname, body);
    return answer as Answer | undefined;
  }

  /** Like `send`, for what every version can do. */
  async post(pathname: string, body: unknown): Promise<Answer> {
    const answer = await this.send('POST', pathname, body);
    if (!answer) throw new Error(`POST ${pathname}: ${this.refused.at(-1)}`);
    return answer;
  }

  /** Resolves once a response meets a condition. */
  async until(pathname: string, condition: (answer: never) => boolean): Promise<unknown> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const answer = await this.get(pathname);
      if (answer !== undefined && condition(answer as never)) return answer;
      if (Date.now() > deadline) throw new Error(`${pathname}: ${JSON.stringify(answer)}`);
      await pause(10);
    }
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }

  async #request(method: string, pathname: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#url + pathname, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return text === '' ? {} : JSON.parse(text);
    // This version has no such path, or no such record.
    if (response.status === 404) return undefined;
    this.refused.push(`${method} ${pathname.replaceAll(/[a-z]+_[0-9a-f]{8,}/g, '*')}: ${text}`);
    return undefined;
  }
}

/** The fields of responses that are used; all ids are texts. */
export interface Answer {
  id: string;
  turn_id: string;
  path: string;
  secret: string;
  team: { id: string };
  process: { process_id: string };
}
