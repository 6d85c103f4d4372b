import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { carriersOf } from '../../src/core/children/procfs.ts';
import { asked, decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { openSession } from '../support/turns.ts';
import { homesIn, opencodeAndGemini } from './acp-agents.ts';
import { onServer } from './on-server.ts';
import { argumentsOf } from '../support/processes/command-line.ts';

const PATIENCE_MS = 60_000;

test('The agents opencode and gemini run in one server, each with its own home and without variables of the other.', () =>
  onServer(
    (home, model) => opencodeAndGemini(home, model.url),
    async ({ client, work, home }) => {
      await using stack = new AsyncDisposableStack();
      const begin = async (agent: 'opencode' | 'gemini') => {
        const cwd = join(work, `work of ${agent}`);
        mkdirSync(cwd);
        const more = { agent, permission_mode: 'require_approval' };
        const session = await openSession(client, cwd, more);
        expect(session).toMatchObject({ provider: 'acp', agent });
        const watched = new WatchedSession(client, session.id, PATIENCE_MS);
        stack.use(watched.watch);
        const turnId = await watched.send('@@shell:env > seen');
        return { watched, turnId, approval: await asked(watched.watch, turnId), cwd };
      };
      const [opencode, gemini] = await Promise.all([begin('opencode'), begin('gemini')]);
      // Both wait: both agents are there.
      const processes = {
        opencode: environmentsOf(home, 'opencode.exe'),
        gemini: environmentsOf(home, 'gemini'),
      };
      for (const { watched, turnId, approval } of [opencode, gemini]) {
        await decide(client, approval, 'accept');
        expect((await watched.watch.end(turnId)).kind).toBe('turn.completed');
      }
      const seen = ({ cwd }: { cwd: string }) => readFileSync(join(cwd, 'seen'), 'utf8');
      const homes = homesIn(home);
      expect(processes.opencode).toContain(`HOME=${homes.opencode}`);
      expect(processes.gemini).toContain(`GEMINI_CLI_HOME=${homes.gemini}`);
      for (const text of [processes.opencode, seen(opencode)])
        expect(text).not.toMatch(/GEMINI|GOOGLE|\/gemini/);
      // It has a password of its own for the door that opencode would open: an agent may be an opencode by another name.
      for (const text of [processes.gemini, seen(gemini)])
        expect(text).not.toMatch(/OPENCODE_(?!SERVER_PASSWORD)|XDG|\/opencode/);
      expect(passwordIn(processes.gemini)).not.toBe(passwordIn(processes.opencode));
      expect(existsSync(join(homes.opencode, '.local/share/opencode'))).toBe(true);
      expect(existsSync(join(homes.gemini, '.gemini/projects.json'))).toBe(true);
    },
  ));

/** The variables of all processes of an agent. */
function environmentsOf(home: string, program: string): string {
  const own = carriersOf(home).filter((pid) =>
    argumentsOf(pid).some((word) => word.endsWith(`/${program}`)),
  );
  expect(own).not.toEqual([]);
  return own.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')).join('\0');
}

function passwordIn(environments: string): string | undefined {
  return /OPENCODE_SERVER_PASSWORD=([^\0]*)/.exec(environments)?.[1];
}
