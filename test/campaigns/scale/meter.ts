import fs from 'node:fs';
import { quantile } from '../../../bench/report/statistics.ts';
import type { TestServer } from '../../support/server.ts';
import type { Place } from './place.ts';

/**
 * A figure: the CPU time of the measured program in milliseconds, which other programs of the machine hardly change, and
 * the time that passed. Memory in megabytes has no time.
 */
export interface Figure {
  value: number;
  passedMs: number | null;
}

export type Figures = Record<string, Figure>;

/** Measures the server, or another program. */
export class Meter {
  readonly figures: Figures = {};
  readonly #requests: number;
  #pid = 0;

  /** `requests` is the number of times that often measured work runs. */
  constructor(requests: number) {
    this.#requests = requests;
  }

  /** Stores a value that is not a time. */
  note(name: string, value: number): void {
    this.figures[name] = { value, passedMs: null };
  }

  /** Starts a server, and measures it from now on. */
  async start(name: string, place: Place): Promise<TestServer> {
    const started = performance.now();
    const server = await place.start();
    this.#pid = server.pid;
    this.figures[name] = { value: cpuMs(server.pid), passedMs: performance.now() - started };
    return server;
  }

  /** Measures work that is done once. */
  async once<T>(name: string, run: () => Promise<T>, pid = this.#pid): Promise<T> {
    const [cpu, started] = [cpuMs(pid), performance.now()];
    const result = await run();
    this.figures[name] = { value: cpuMs(pid) - cpu, passedMs: performance.now() - started };
    return result;
  }

  /** Divides a figure by the number of units that were measured together. */
  divide(name: string, count: number): void {
    const figure = this.figures[name];
    if (!figure) return;
    const passedMs = figure.passedMs === null ? null : figure.passedMs / count;
    this.figures[name] = { value: figure.value / count, passedMs };
  }

  /** Measures work that is done again and again; the figure is the lower quartile. */
  async often(name: string, run: () => Promise<unknown>, pid = this.#pid): Promise<void> {
    const all: Figure[] = [];
    // The first run reads what the others find in memory.
    await run();
    for (let n = 0; n < this.#requests; n++) {
      await this.once(name, run, pid);
      const figure = this.figures[name];
      if (figure) all.push(figure);
    }
    this.figures[name] = {
      value: quantile(
        all.map(({ value }) => value),
        0.25,
      ),
      passedMs: quantile(
        all.map(({ passedMs }) => passedMs ?? 0),
        0.25,
      ),
    };
  }
}

/** The CPU time of a process with all its threads, in milliseconds. */
export function cpuMs(pid: number): number {
  const directory = `/proc/${pid}/task`;
  const nanoseconds = fs
    .readdirSync(directory)
    .map((task) => Number(fs.readFileSync(`${directory}/${task}/schedstat`, 'utf8').split(' ')[0]));
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}
