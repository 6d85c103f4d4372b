import net from 'node:net';
import type { QueryOf } from '../../../api/endpoint.ts';
import type { waitForProcess } from '../../../api/processes.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { StreamName } from './output.ts';
import { hasText } from './reading.ts';
import type { ProcessRunner } from './runner.ts';

/** The interval between two tries to connect to a port, in ms. */
const PORT_INTERVAL_MS = 50;

/** Waits for what a process does: its end, a text that it prints, a port that it opens. */
export class ProcessWaits {
  readonly #runner: ProcessRunner;
  readonly #clock: Clock;

  constructor({ runner, clock }: { runner: ProcessRunner; clock: Clock }) {
    this.#runner = runner;
    this.#clock = clock;
  }

  /** Resolves with whether the condition of the query held before the process had ended and the time was over. */
  async for(
    id: string,
    { for: condition, timeout_ms }: QueryOf<typeof waitForProcess>,
    disconnected: AbortSignal,
  ): Promise<boolean> {
    // The signals of a search, and their abort, cost more than all other work of a wait for the end.
    if (condition === 'exit')
      return this.#within(
        timeout_ms,
        this.#runner.done(id).then(() => true),
        disconnected,
      );
    const over = new AbortController();
    try {
      const found = this.#search(id, condition, AbortSignal.any([over.signal, disconnected]));
      return await this.#within(timeout_ms, found, disconnected);
    } finally {
      over.abort();
    }
  }

  /** Resolves with `found`, or with false once the time is over or the client has disconnected. */
  async #within(ms: number, found: Promise<boolean>, disconnected: AbortSignal): Promise<boolean> {
    const over = Promise.withResolvers<false>();
    const giveUp = () => over.resolve(false);
    using _limit = this.#clock.after(ms, giveUp);
    if (disconnected.aborted) giveUp();
    disconnected.addEventListener('abort', giveUp, { once: true });
    return await Promise.race([found, over.promise]);
  }

  /** Searches until the condition holds, the process has ended, or the signal aborts. */
  #search(id: string, condition: string, signal: AbortSignal): Promise<boolean> {
    const [kind, ...rest] = condition.split(':');
    const ended = this.#runner.done(id);
    if (kind === 'port')
      return Promise.race([this.#untilPortOpen(Number(rest[0]), signal), ended.then(() => false)]);
    const text = rest.join(':');
    // A text that the process printed just before its end counts too.
    return Promise.race([
      this.#untilPrinted(id, text, signal),
      ended.then(() => this.#hasPrinted(id, text)),
    ]);
  }

  async #untilPortOpen(port: number, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if ((await isPortOpen(port, '127.0.0.1')) || (await isPortOpen(port, '::1'))) return true;
      await this.#clock.sleep(PORT_INTERVAL_MS, signal).catch(() => undefined);
    }
    return false;
  }

  async #hasPrinted(id: string, text: string): Promise<boolean> {
    const found = await Promise.all(
      (['stdout', 'stderr'] as const).map((stream) =>
        hasText(this.#runner.logPath(id, stream), text),
      ),
    );
    return found.includes(true);
  }

  async #untilPrinted(id: string, text: string, signal: AbortSignal): Promise<boolean> {
    const printed = Promise.withResolvers<boolean>();
    const needle = Buffer.from(text);
    const tails: Record<StreamName, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    const search = async () => {
      if (await this.#hasPrinted(id, text)) printed.resolve(true);
    };
    if (signal.aborted) return false;
    using _listening = this.#runner.listen(id, (stream, chunk) => {
      const seen = Buffer.concat([tails[stream], chunk]);
      if (seen.includes(needle)) printed.resolve(true);
      // The beginning of the text may have been printed before the listener was added.
      else if (tails[stream].length < needle.length - 1) search().catch(printed.reject);
      tails[stream] = seen.subarray(Math.max(0, seen.length - needle.length + 1));
    });
    signal.addEventListener('abort', () => printed.resolve(false), { once: true });
    await search();
    return await printed.promise;
  }
}

function isPortOpen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
