import fs from 'node:fs';
import path from 'node:path';
import type { Session } from '../../src/api/sessions.ts';
import type { Watch } from '../../src/api/watches.ts';
import { expectEventually } from './expect-eventually.ts';
import type { Refusal, Harness } from './sessions/harness.ts';

/** The time between two checks of a watch by default, in ms. */
export const EVERY = 60_000;
/** A command whose output is the content of the file `out`. */
export const PRINTS = 'cat out';

export function put(directory: string, text: string): void {
  fs.writeFileSync(path.join(directory, 'out'), text);
}

/** The calls of a test about the watch of one session. */
export function watchOf(harness: Harness, { id }: Pick<Session, 'id'>) {
  const url = `/v1/sessions/${id}/watch`;
  const get = async () => (await harness.get<Watch & Refusal>(url)).body;
  return {
    start: (command: string, more: object = {}) =>
      harness.post<Watch & Refusal>(url, { command, ...more }),
    get,
    stop: () => harness.del<Watch & Refusal>(url),
    /** Lets a time pass, and resolves with the watch once a check that was due has ended. */
    async check(ms = EVERY): Promise<Watch> {
      const before = (await get()).process_id;
      harness.clock.advance(ms);
      await expectEventually(async () => {
        const { status, process_id } = await get();
        return status !== 'checking' && process_id !== before;
      }).toBe(true);
      return get();
    },
    /** Lets a time pass after which a due check is postponed. */
    async postpone(ms = EVERY): Promise<Watch> {
      const { next_at: before } = await get();
      harness.clock.advance(ms);
      await expectEventually(async () => (await get()).next_at).not.toBe(before);
      return get();
    },
    async kinds(): Promise<string[]> {
      const events = await harness.events(id);
      return events.map(({ kind }) => kind).filter((kind) => kind.startsWith('watch.'));
    },
    async turns(): Promise<number> {
      const { body } = await harness.get<{ source: string }[]>(`/v1/sessions/${id}/turns`);
      return body.filter(({ source }) => source === 'watch').length;
    },
  };
}
