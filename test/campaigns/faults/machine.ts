import fs from 'node:fs';
import path from 'node:path';
import { signal } from '../../../src/core/children/identity.ts';
import { carriersOf } from '../../../src/core/children/procfs.ts';
import { commandOf } from '../../support/processes/command-line.ts';
import { PROCESS_MARK } from './activities/processes.ts';

/** The largest sum of the jumps of the clock. A key of a request is valid for a day. */
const MOST_OFFSET_MS = 10 * 3_600_000;

/** The wall clock of the servers. */
export class CampaignClock {
  readonly #file: string;
  #offset = 0;

  constructor(place: string) {
    this.#file = path.join(place, 'clock');
    this.set(0);
  }

  /** Environment of a server with this clock. */
  get environment(): Record<string, string> {
    const preload = path.join(import.meta.dirname, 'clock.preload.mjs');
    return { CAMPAIGN_CLOCK: this.#file, NODE_OPTIONS: `--import=${preload}` };
  }

  now(): number {
    return Date.now() + this.#offset;
  }

  jump(ms: number): void {
    this.set(Math.max(-MOST_OFFSET_MS, Math.min(MOST_OFFSET_MS, this.#offset + ms)));
  }

  /** Sets the clock to the latest time that it may have had. */
  catchUp(): void {
    this.set(MOST_OFFSET_MS);
  }

  set(offset: number): void {
    this.#offset = offset;
    fs.writeFileSync(`${this.#file}.new`, String(offset));
    fs.renameSync(`${this.#file}.new`, this.#file);
  }
}

/** The running agents of a server. */
export function agentsOf(directory: string): number[] {
  return carriersOf(directory).filter((pid) => commandOf(pid).includes('demo-agent'));
}

/** The running processes of the activity of processes. */
export function processesOf(directory: string): number[] {
  return carriersOf(directory).filter((pid) => commandOf(pid).includes(PROCESS_MARK));
}

/** Sends a signal to a process of a server, and returns whether it was there. */
export function sendSignal(pid: number, name: NodeJS.Signals): boolean {
  return signal(pid, name) === 'sent';
}

/** The size of the address space of a process, in bytes. */
export function addressSpaceOf(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmSize:\s+(\d+)/m.exec(status)?.[1]) * 1024;
}

/** The size of the largest file in a directory, in bytes. */
export function largestFileIn(directory: string): number {
  return Math.max(
    0,
    ...fs
      .readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => fs.statSync(path.join(directory, name)).size),
  );
}
