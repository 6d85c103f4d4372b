import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { withDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { type RawAgentHarness, testRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, onGo } from '../../support/providers/rows.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';
import { commit, git, makeRepository, write } from '../../support/worktrees/work.ts';

/** Runs a turn whose agent asks for a permission without arguments, until the request is pending. */
async function askUndescribed(): Promise<[RawAgentHarness, string, () => Promise<unknown>]> {
  const harness = await testRawAgent(
    onGo(async (agent) => {
      await agent.ask({ toolCallId: 'u1', title: 'Shell', kind: 'execute' });
      return { stopReason: 'end_turn' };
    }),
  );
  const session = await harness.open(asking);
  const turnId = await session.send('go');
  const pending = async () => (await harness.client.call(endpoints.listApprovals, {}))[0];
  await expectEventually(pending).toBeDefined();
  return [harness, (await pending())?.id ?? '', () => session.watch.end(turnId)];
}

const statusOf = async ({ client }: RawAgentHarness, status: 'pending' | 'accepted') =>
  (await client.call(endpoints.listApprovals, { query: { status } })).length;

test('Without a terminal, a request without arguments is accepted only with --undescribed.', async () => {
  const [harness, id, ended] = await askUndescribed();
  const cadre = cadreOn(harness.given);
  const refused = await cadre(['approvals', 'accept', id]);
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('does not say what this request would do');
  expect(refused.stderr).toContain('pass --undescribed to accept the request');
  expect(await statusOf(harness, 'pending')).toBe(1);
  const accepted = await cadre(['approvals', 'accept', id, '--undescribed']);
  expect([accepted.code, accepted.stdout]).toEqual([0, 'accepted: Shell\n']);
  await ended();
  // The refusal of an answered request does not mention the typed word.
  const late = await cadre(['approvals', 'accept', id]);
  expect(late.stderr).toContain('is already accepted');
});

test('A request without arguments is declined without a word and without a flag.', async () => {
  const [harness, id, ended] = await askUndescribed();
  const declined = await cadreOn(harness.given)(['approvals', 'decline', id]);
  expect([declined.code, declined.stderr]).toEqual([0, '']);
  await ended();
});

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('a request at a terminal', () => {
  test('A request without arguments is accepted only with the typed word.', async () => {
    const [harness, id, ended] = await askUndescribed();
    const args = ['approvals', 'accept', id];
    const { directory } = harness.given;
    for (const [typed, code] of [
      ['y\r', 2],
      ['\u0004', 2],
      ['\u0003', 130],
    ] as const) {
      await using wrong = runInTerminal(directory, args);
      await wrong.expectShows('type yes to accept it:');
      wrong.type(typed);
      expect(await wrong.ended).toEqual({ code, terminal: 'as it was' });
      expect(await statusOf(harness, 'pending')).toBe(1);
    }
    await using terminal = runInTerminal(directory, args);
    await terminal.expectShows('does not say what this request would do');
    await terminal.expectShows('type yes to accept it:');
    await terminal.type('yes\r').ends(0);
    expect(await statusOf(harness, 'accepted')).toBe(1);
    await ended();
  });

  test('A terminal that takes JSON is not asked for a word.', async () => {
    const [harness, id, ended] = await askUndescribed();
    const { directory } = harness.given;
    await using terminal = runInTerminal(directory, ['--json', 'approvals', 'accept', id]);
    expect((await terminal.ended).code).toBe(2);
    expect(await statusOf(harness, 'pending')).toBe(1);
    await cadreOn(harness.given)(['approvals', 'decline', id]);
    await ended();
  });

  test('A merge of many files is asked about only after each of them was shown.', () =>
    withWork(60, async ({ directory, repo, mine }) => {
      const end = git(repo, 'rev-parse', 'main');
      await using left = runInTerminal(directory, ['worktrees', 'merge', 'tree']);
      await left.expectShows(/\d+ more lines:/);
      expect(left.emulator.written).not.toContain('continue?');
      await left.type('n').ends(0);
      expect(git(repo, 'rev-parse', 'main')).toBe(end);
      await using terminal = runInTerminal(directory, ['worktrees', 'merge', 'tree']);
      const stops = () => terminal.emulator.written.match(/more lines:|continue\?/g)?.length ?? 0;
      for (let pages = 0; !terminal.emulator.written.includes('f59.txt'); pages++) {
        await expectEventually(stops).toBeGreaterThan(pages);
        expect(terminal.emulator.written).not.toContain('continue?');
        terminal.type(' ');
        await expectEventually(stops).toBeGreaterThan(pages + 1);
      }
      await terminal.expectShows('continue? [y/N]');
      for (let at = 0; at < 60; at++) expect(terminal.emulator.written).toContain(`f${at}.txt`);
      await terminal.type('y\r').ends(0);
      expect(git(repo, 'rev-parse', 'main')).toBe(mine);
    }));

  test('Ctrl-C at the question after a long preview of a merge ends the command with 130, and merges nothing.', () =>
    withWork(30, async ({ directory, repo }) => {
      const end = git(repo, 'rev-parse', 'main');
      await using terminal = runInTerminal(directory, ['worktrees', 'merge', 'tree']);
      await terminal.expectShows(/\d+ more lines:/);
      for (let pages = 1; !terminal.emulator.written.includes('continue?'); pages++) {
        const stops = () => terminal.emulator.written.match(/more lines:|continue\?/g)?.length;
        terminal.type(' ');
        await expectEventually(stops).toBeGreaterThan(pages);
      }
      terminal.type('\u0003');
      expect(await terminal.ended).toEqual({ code: 130, terminal: 'as it was' });
      expect(terminal.emulator.written).not.toContain('Nothing was changed');
      expect(git(repo, 'rev-parse', 'main')).toBe(end);
    }));

  test('A merge of more files than the server lists is not asked about.', () =>
    withWork(501, async ({ directory, repo, mine }) => {
      await using terminal = runInTerminal(directory, ['worktrees', 'merge', 'tree']);
      expect(await terminal.ended).toEqual({ code: 2, terminal: 'as it was' });
      expect(terminal.emulator.text()).toContain(
        'the list of changes is incomplete (files: 500 of 501)',
      );
      expect(git(repo, 'rev-parse', 'main')).not.toBe(mine);
      await using agreed = runInTerminal(directory, ['worktrees', 'merge', 'tree', '--yes']);
      expect((await agreed.ended).code).toBe(0);
      expect(git(repo, 'rev-parse', 'main')).toBe(mine);
    }));
});

/** Makes a repository whose worktree `tree` has one commit with this many files. */
async function withWork(
  files: number,
  test: (work: { directory: string; repo: string; mine: string }) => Promise<void>,
): Promise<void> {
  await withDemo(async ({ client, directory }) => {
    const repo = makeRepository(path.join(directory, 'repo'));
    const worktree = { worktree_name: 'tree' };
    await client.call(endpoints.createSession, { body: { provider: 'acp', cwd: repo, worktree } });
    const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
    const names = Array.from({ length: files }, (_, at) => [`f${at}.txt`, `${at}\n`]);
    write(tree?.path ?? '', Object.fromEntries(names));
    await test({ directory, repo, mine: commit(tree?.path ?? '', 'mine') });
  });
}
