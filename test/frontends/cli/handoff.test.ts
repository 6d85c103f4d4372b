import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { tempDirectory } from '../../support/temp.ts';
import { makeRepository } from '../../support/worktrees/work.ts';

const server = sharedDemo();

test('A handoff prints the new session, and lists and conversations show both sessions.', async () => {
  await using directory = tempDirectory('handoff');
  const cadre = cadreOn(server());
  const cwd = directory.path;
  await cadre(['run', '--title', 'parser', 'say begun'], { cwd });
  const options = ['--provider', 'acp', '--note', 'say continued', '--title', 'second'];
  const handed = await cadre(['sessions', 'handoff', 'parser', ...options], { cwd });
  expect([handed.code, handed.stderr]).toEqual([0, '']);
  expect(handed.stdout).toMatch(
    /^Handed session \w{8} over to acp( demo)?: session "second" \(sess_\w+\)\n/,
  );
  const next = /sess_\w+/.exec(handed.stdout)?.[0] ?? '';
  await cadre(['sessions', 'wait', next], { cwd });
  const listed = await cadre(['sessions', 'list'], { cwd });
  expect(listed.stdout).toContain('ready, handed over');
  const old = await cadre(['sessions', 'show', 'parser'], { cwd });
  expect(old.stdout).toContain(`continued by session ${next}`);
  const shown = await cadre(['sessions', 'show', next], { cwd });
  expect(shown.stdout).toContain('continues session sess_');
  expect(shown.stdout).toContain('(record of the earlier conversation)');
  expect(shown.stdout).not.toContain('handoff_record');
  const got = await cadre(['sessions', 'get', next], { cwd });
  expect(got.stdout).toMatch(/^continues +sess_/m);
});

test('A handoff without a provider or an agent is an error of usage.', async () => {
  const { code, stderr } = await cadreOn(server())(['sessions', 'handoff', 'any']);
  expect(code).toBe(2);
  expect(stderr).toContain('name the new agent with --provider or --agent');
});

test('A session at a usage limit prints the consent that is missing, and is handed over once it is given.', async () => {
  await using directory = tempDirectory('handoff-limit');
  const cadre = cadreOn(server());
  const cwd = makeRepository(directory.path);
  const made = await cadre(['sessions', 'create', '--title', 'limited'], { cwd });
  expect(made.code).toBe(0);
  const set = await cadre(['sessions', 'after-limit', 'limited', 'handoff:demo'], { cwd });
  expect(set.stdout).toContain('at a usage limit, demo continues the session');
  await cadre(['sessions', 'send', 'limited', 'limit 7200000'], { cwd });
  const shown = async () =>
    (await cadre(['sessions', 'after-limit', 'limited', 'handoff:demo'], { cwd })).stdout;
  await expectEventually(shown).toContain('run cadre worktrees trust --handoff demo in it');

  const held = await cadre(['sessions', 'show', 'limited'], { cwd });
  expect(held.stdout).toContain('usage limit: to let demo continue sessions of this repository');
  const unconfirmed = await cadre(['worktrees', 'trust', '--handoff', 'demo'], { cwd });
  expect(unconfirmed.code).toBe(2);
  expect(unconfirmed.stderr).toContain(
    '| At a usage limit, demo continues sessions of this repository.',
  );
  const trusted = await cadre(['worktrees', 'trust', '--handoff', 'demo', '--yes'], { cwd });
  expect([trusted.code, trusted.stdout]).toEqual([
    0,
    expect.stringMatching(/^Trusted [0-9a-f]{64} for /),
  ]);
  await expectEventually(
    async () => (await cadre(['sessions', 'list', '--json'], { cwd })).stdout,
  ).toContain('"continued_by"');
});

describe('the consent to a handoff', () => {
  /** Makes a session in a new repository, or in a directory without one. */
  async function limitedIn(directory: string, isRepository = true) {
    const cwd = isRepository ? makeRepository(directory) : directory;
    const run = cadreOn(server());
    const made = await run(['sessions', 'create'], { cwd });
    const session_id = made.stdout.trim();
    const set = (options: object, ...flags: string[]) =>
      run([...flags, 'sessions', 'after-limit', session_id, 'handoff:demo'], { cwd, ...options });
    const stored = async () => {
      const { client } = server();
      const trusted = await client.call(endpoints.listTrusted, { query: { repo_root: cwd } });
      const session = await client.call(endpoints.getSession, { params: { session_id } });
      return [session.after_limit, trusted.length];
    };
    return { cwd, set, stored };
  }

  test('A terminal shows the directory and the consequence, and stores the consent for y.', async () => {
    await using directory = tempDirectory('consent');
    const { cwd, set, stored } = await limitedIn(directory.path);
    const declined = await set({ isTerminal: true, stdin: '\n' });
    expect([declined.code, declined.stdout]).toEqual([2, '']);
    expect(declined.stderr).toContain('demo (handoffs at a usage limit)\n');
    expect(declined.stderr).toContain('The provider of demo receives prompts, answers and files.');
    expect(declined.stderr).toContain(`allow these handoffs for ${cwd}? [y/N] `);
    expect(declined.stderr).toContain('not confirmed: nothing was changed');
    expect(await stored()).toEqual([null, 0]);
    const allowed = await set({ isTerminal: true, stdin: 'y\n' });
    expect([allowed.code, allowed.stdout]).toEqual([
      0,
      expect.stringContaining('at a usage limit, demo continues the session'),
    ]);
    expect(await stored()).toEqual(['handoff:demo', 1]);
    const again = await set({ isTerminal: true });
    expect([again.code, again.stderr]).toEqual([0, '']);
  });

  test('Without a terminal and with --json, the command prints the command that stores the consent.', async () => {
    await using directory = tempDirectory('consent-none');
    const { cwd, set, stored } = await limitedIn(directory.path);
    for (const [options, ...flags] of [
      [{}],
      [{ isTerminal: true, stdin: 'y\n' }, '--json'],
    ] as const) {
      const { code, stderr } = await set(options, ...flags);
      expect([code, stderr]).toEqual([
        0,
        `cadre: demo may not continue sessions of ${cwd} yet: run cadre worktrees trust --repo ${cwd} --handoff demo\n`,
      ]);
    }
    expect(await stored()).toEqual(['handoff:demo', 0]);
  });

  test('Outside of a repository, the command asks for no consent.', async () => {
    await using directory = tempDirectory('consent-outside');
    const { set } = await limitedIn(directory.path, false);
    expect(await set({ isTerminal: true })).toMatchObject({ code: 0, stderr: '' });
  });
});

test.each(['handoff:nobody', 'handoff:default', 'later'])(
  'The setting %s is refused with the reason.',
  async (setting) => {
    await using directory = tempDirectory('handoff-refused');
    const { code, stderr } = await cadreOn(server())(
      ['sessions', 'create', '--after-limit', setting],
      { cwd: directory.path },
    );
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /unknown agent "nobody"|default is the agent of the session itself|must be resume, wait or handoff:AGENT/,
    );
  },
);
