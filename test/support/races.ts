import path from 'node:path';
import type { Race } from '../../src/api/races.ts';
import type { CleanupResult } from '../../src/api/worktrees.ts';
import { newUuid } from '../../src/core/lib/ids.ts';
import type { ScriptedTurn } from './scripted-provider.ts';
import type { Refusal, Harness } from './sessions/harness.ts';
import { makeRepository, write } from './worktrees/work.ts';

/** Two contenders of the scripted provider, `acp-a` and `acp-b`. */
export const TWO = [
  { provider: 'acp', model: 'a' },
  { provider: 'acp', model: 'b' },
];

/** The calls of a test about races in a new repository. */
export function racesOn(
  harness: Harness,
  cwd = makeRepository(path.join(harness.directory, newUuid())),
) {
  const get = async (id: string) => (await harness.get<Race & Refusal>(`/v1/races/${id}`)).body;
  const contender = async (id: string, name: string) => {
    const found = (await get(id)).contenders.find((one) => one.contender === name);
    if (!found) throw new Error(`no contender ${name}`);
    return found;
  };
  return {
    cwd,
    get,
    contender,
    start: async (more: object = {}) => {
      const body = { prompt: 'go', cwd, contenders: TWO, ...more };
      return harness.post<Race & Refusal>('/v1/races', body);
    },
    keep: (id: string, name: string, headers?: Record<string, string>) =>
      harness.post<{ race: Race; cleanups: CleanupResult[] } & Refusal>(
        `/v1/races/${id}/keep`,
        { contender: name },
        headers,
      ),
    stop: (id: string) => harness.post<Race & Refusal>(`/v1/races/${id}/stop`, {}),
    /** Resolves with the turns of all contenders, by their names. */
    async turns(count = TWO.length): Promise<Record<string, ScriptedTurn>> {
      const turns: Record<string, ScriptedTurn> = {};
      for (let at = 0; at < count; at++) {
        const turn = await harness.provider.nextTurn();
        turns[`acp-${turn.session.model}`] = turn;
      }
      return turns;
    },
    /** Resolves with the race once it has ended. */
    async ended(id: string): Promise<Race> {
      const isOf = (payload: unknown) => (payload as { race: Race }).race.id === id;
      await harness.until(({ kind, payload }) => kind === 'race.ended' && isOf(payload));
      return get(id);
    },
  };
}

/** Writes a file into the worktree of a turn. */
export function work({ session }: ScriptedTurn, file: string): void {
  write(session.cwd, { [file]: `${file}\n` });
}
