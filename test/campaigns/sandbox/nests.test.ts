import fs from 'node:fs';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { findProgram } from '../../../src/core/lib/find-program.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { SHELL_AGENT } from '../../server/conversations/sessions/shell-agent.ts';
import { ranTo } from '../../support/processes/work.ts';
import { hasSandbox } from '../../support/sandbox/available.ts';
import { ofKind, runTurn } from '../../support/turns.ts';
import { unprivileged } from '../hostile/unprivileged.ts';
import {
  failedWork,
  hasPython,
  OPEN,
  succeeded,
  tryEscapes,
  type User,
  withSandboxFixture,
  type SandboxFixture,
} from './fixture.ts';

/** A server of root has no sandbox with namespaces inside. */
const isRoot = process.getuid?.() === 0;
const user: User = isRoot ? unprivileged : undefined;
const canNest = hasSandbox && hasPython && (!isRoot || user !== undefined);

/** Only the agent may create namespaces; it answers a prompt with the output of the prompt as a command. */
const config = stringify({
  sandbox: { children: ['agents', 'tools'] },
  providers: {
    acp: {
      command: selfCommand().file,
      args: ['--input-type=module', '-e', SHELL_AGENT],
      sandbox: { nests: true },
    },
  },
});

async function say({ server, session }: SandboxFixture, command: string): Promise<string> {
  const { turn, events } = await runTurn(server.client, session.session_id, command);
  if (turn.error) return turn.error.message;
  return ofKind(events, 'message.completed')
    .map(({ payload }) => payload.text)
    .join('');
}

/** Attempts that a sandbox with namespaces inside allows. */
const ALLOWED = ['a user namespace', 'a sandbox inside'];

describe.skipIf(!canNest)('namespaces in a sandbox of an ordinary user', () => {
  test('An agent with nests runs a command in a sandbox of its own, and a process of a tool cannot.', () =>
    withSandboxFixture({ user, mode: 'require', network: 'hosts', config }, async (fixture) => {
      const { root, data, server, session } = fixture;
      const bubblewrap = findProgram('bwrap', process.env.PATH) ?? '';
      // Without a /dev of its own, because the directories of tests may be in /dev/shm.
      const sandbox = `${bubblewrap} --unshare-all --ro-bind / / --bind ${root} ${root} --proc /proc`;
      const text = await say(
        fixture,
        `${sandbox} sh -c 'echo inside > made; echo outside > ~/made; cat ${data}/auth/token; echo pid $$'`,
      );
      expect(text).toMatch(/Read-only file system.*No such file or directory.*pid 2\n$/s);
      expect(fs.readFileSync(path.join(root, 'made'), 'utf8')).toBe('inside\n');
      for (const command of [`${sandbox} true`, 'unshare -Ur true'])
        expect(await ranTo(server, command, session)).toMatchObject({ status: 'failed' });
    }));

  test('A file that a sandbox shows read-only stays so in the namespaces that an agent creates.', () =>
    withSandboxFixture({ user, mode: 'require', config }, async (fixture) => {
      const { root } = fixture;
      const script = path.join(root, 'nested.py');
      fs.copyFileSync(path.join(import.meta.dirname, 'nested.py'), script);
      fs.chmodSync(script, 0o644);
      const printed = await say(fixture, `python3 ${script} ${path.join(root, '.git')} ${root}`);
      const { 'control: an unmount of its own mount': control, ...attempts } = JSON.parse(
        printed,
      ) as Record<string, boolean | null>;
      expect(control).toBe(true);
      expect(Object.keys(attempts).length).toBeGreaterThanOrEqual(8);
      expect([...new Set(Object.values(attempts))]).toEqual([false]);
    }));

  test('A hostile process with namespaces of its own leaves the sandbox by no further attempt.', async () => {
    const escapes = await withSandboxFixture({ user, mode: 'require', nests: true }, tryEscapes);
    expect(failedWork(escapes)).toEqual([]);
    expect(succeeded(escapes).toSorted()).toEqual([...OPEN, ...ALLOWED].toSorted());
    expect(escapes.planted).toEqual([]);
  });
});
