import path from 'node:path';
import type { Race } from '../../src/api/races.ts';
import type { CleanupResult } from '../../src/api/worktrees.ts';
import { newUuid } from '../../src/core/lib/ids.ts';
import type { ScriptedTurn } from './scripted-provider.ts';
import type { Refusal, Stage } from './sessions/harness.ts';
import { makeRepository, write } from './worktrees/work.ts';

/** Two contenders of the scripted provider, `acp-a` and `acp-b`. */
export const TWO = [
  { provider: 'acp', model: 'a' },
  { provider: 'acp', model: 'b' },
];

/** The calls of a test about races in a new repository. */
export function racesOn(stage: Stage, cwd = makeRepository(path.join(stage.directory, newUuid()))) {
  const get = async (id: string) => (await stage.get<Race & Refusal>(`/v1/races/${id}`)).body;
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
      return stage.post<Race & Refusal>('/v1/races', body);
    },
    keep: (id: string, name: string, headers?: Record<string, string>) =>
      stage.post<{ race: Race; cleanups: CleanupResult[] } & Refusal>(
        `/v1/races/${id}/keep`,
        { contender: name },
        headers,
      ),
    stop: (id: string) => stage.post<Race & Refusal>(`/v1/races/${id}/stop`, {}),
    /** Resolves with the turns of all contenders, by their names. */
    async turns(count = TWO.length): Promise<Record<string, ScriptedTurn>> {
      const turns: Record<string, ScriptedTurn> = {};
      for (let at = 0; at < count; at++) {
        const turn = await stage.provider.nextTurn();
        turns[`acp-${turn.session.model}`] = turn;
      }
      return turns;
    },
    /** Resolves with the race once it has ended. */
    async ended(id: string): Promise<Race> {
      const isOf = (payload: unknown) => (payload as { race: Race }).race.id === id;
      await stage.until(({ kind, payload }) => kind === 'race.ended' && isOf(payload));
      return get(id);
    },
  };
}

/** Writes a file into the worktree of a turn. */
export function work({ session }: ScriptedTurn, file: string): void {
  write(session.cwd, { [file]: `${file}\n` });
}
