import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ApprovalRule } from '../../src/api/approval-rules.ts';
import { endpoints } from '../../src/api/index.ts';
import type { Worktree } from '../../src/api/worktrees.ts';
import { HttpClient } from '../../src/client/client.ts';
import { newestFormat } from '../../src/core/store/migrate.ts';
import { someOf } from '../support/at-length.ts';
import { cadreOn, runCadre, runHere, startCadre } from '../support/cli/cadre.ts';
import { withDemo } from '../support/demo-server.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { openRuntime } from '../support/runtime.ts';
import { startServer } from '../support/server.ts';
import { asDataDirectory, tempDirectory } from '../support/temp.ts';
import { runTurn } from '../support/turns.ts';
import { change, dump, storeIn } from './dump.ts';
import { type Answers, answersOf, releases, stored, unpack } from './stored.ts';

/** The data of a release, made older than this version's where they are not, in a directory that a server can take. */
async function withOld(
  version: string,
  test: (old: { directory: string; answers: Answers; copy: string }) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('release');
  const directory = path.join(own.path, 'data');
  const answers = unpack(version, directory);
  asDataDirectory(directory);
  const found = (await dump(storeIn(directory))).format as number[][];
  let format = Number(found[0]?.[0]);
  // Steps may be done twice, so data of this format are treated like data of the format before.
  if (format === newestFormat) await change(directory, `PRAGMA user_version = ${--format}`);
  await test({ directory, answers, copy: `${storeIn(directory)}.before-v${format + 1}` });
}

/** A start in this process, which changes older data, and a stop in order. */
async function startAndStop(directory: string): Promise<void> {
  const { runtime, client } = await openRuntime(directory);
  client.close();
  await runtime.stop();
}

/** Whether what was there is there: fields and records may have been added. */
function expectKept(now: Record<string, unknown>, then: Record<string, unknown>): void {
  for (const [name, records] of Object.entries(then))
    expect([name, now[name]]).toEqual([name, kept(records)]);
}

/** The directories of the machine that made the data are gone, and a start notices that. */
function withoutDirectories(worktrees: unknown): unknown {
  return (worktrees as Worktree[]).map(({ status, updated_at, ...rest }) =>
    status === 'active' ? rest : { status, updated_at, ...rest },
  );
}

/** Rules to allow that this version refuses to add ask instead. */
function asTheyDecide(rules: unknown): unknown {
  const refused = new Set(['git push **', 'ls; rm']);
  return (rules as ApprovalRule[]).map((rule) =>
    refused.has(rule.command ?? '') ? { ...rule, effect: 'ask' } : rule,
  );
}

/** A matcher for a value with all its fields. */
function kept(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kept);
  if (typeof value !== 'object' || value === null) return value;
  // The sentence beside the code of a hold is made anew for each answer.
  const isHold = 'code' in value && 'since' in value;
  const fields = Object.entries(value).map(([name, one]) => [
    name,
    isHold && name === 'message' ? (expect.any(String) as unknown) : kept(one),
  ]);
  return expect.objectContaining(Object.fromEntries(fields) as object) as unknown;
}

describe.each(stored)('the data of cadre %s', (name) => {
  const [version = ''] = name.split('+');

  test('A start migrates the older data, prints the path of a copy, and keeps all records readable.', () =>
    withOld(name, async ({ directory, answers, copy }) => {
      const before = await dump(storeIn(directory));
      const args = ['--data-dir', directory, 'serve', '--port', '0', '--demo'];
      const first = startCadre(directory, args);
      await first.until('token');
      first.child.kill('SIGTERM');
      const { stdout, stderr } = await first.ended;
      expect(stderr).toMatch(
        /migrating the data of an older version before the server accepts requests[\s\S]*copy was kept/,
      );
      expect(stdout).toContain(`upgraded data of cadre ${version} `);
      expect(stdout).toContain(`return to ${copy} with cadre db rollback\n`);
      expect(await dump(copy)).toEqual(before);
      await withDemo(
        async (server) => {
          const { worktrees, ...records } = answers.records;
          const now = await answersOf(server.client, answers.seq);
          expectKept(now, {
            ...records,
            worktrees: withoutDirectories(worktrees),
            ...('rules' in records && { rules: asTheyDecide(records.rules) }),
          });
          for (const session of await server.client.call(endpoints.listSessions, { query: {} })) {
            const params = { session_id: session.id };
            const [last] = await server.client.call(endpoints.listTurns, { params, query: {} });
            expect(session.last_turn_status).toBe(last?.ended_at ? last.status : null);
          }
          const reader = new HttpClient({ url: server.url, token: answers.token });
          expect(await reader.call(endpoints.listSessions, { query: {} })).not.toEqual([]);
          reader.close();
          const done = await runTurn(server.client, answers.session, 'history');
          expect(done.turn).toMatchObject({
            status: 'completed',
            text: expect.stringMatching(/turns: [1-9]/),
          });
          const queued = await cadreOn(server)([
            'sessions',
            'send',
            answers.session,
            '--queue',
            'say',
          ]);
          expect(queued.stdout).toMatch(/^Queue entry que_\w+ is running as turn turn_/);
          const [turn_id = ''] = /turn_\w+/.exec(queued.stdout) ?? [];
          const params = { session_id: answers.session, turn_id };
          const status = async () =>
            (await server.client.call(endpoints.getTurn, { params })).status;
          await expectEventually(status).toBe('completed');
          expect((await cadreOn(server)(['db', 'check'])).stdout).toMatch(/: ok\n$/);
        },
        { directory },
      );
    }));
});

describe.each(releases)('the data of cadre %s', (version) => {
  test('A rollback returns the older data unchanged, and a second rollback returns the newer data.', () =>
    withOld(version, async ({ directory, answers, copy }) => {
      const before = await dump(storeIn(directory));
      const server = await startServer(directory);
      const cadre = cadreOn(server);
      await runTurn(server.client, answers.session, 'say later');
      expect(await cadre(['db', 'rollback', '--yes'])).toMatchObject({
        code: 7,
        stderr: expect.stringMatching(/another server \(pid \d+\) uses .*: stop that server/),
      });
      await server.end('SIGKILL');
      const { code, stdout, stderr } = await cadre(['db', 'rollback', '--yes', '--json']);
      expect(code).toBe(0);
      expect(stderr).toContain(`back to cadre ${version} (format `);
      expect(stderr).toMatch(/lost +1 turn, events \d+ to \d+; changes to older records/);
      const done = JSON.parse(stdout) as { replaced: string };
      expect(done).toMatchObject({ version, copy, lost: { turns: 1 } });
      expect(await dump(storeIn(directory))).toEqual(before);
      expect((await cadre(['db', 'rollback', '--yes'])).code).toBe(3);
      const later = await dump(done.replaced);
      expect((await cadre(['db', 'rollback', done.replaced, '--yes'])).code).toBe(0);
      expect(await dump(storeIn(directory))).toEqual(later);
      expect(JSON.stringify(later)).toContain('say later');
      const again = await openRuntime(directory);
      const { epoch } = await again.client.call(endpoints.getVersion, {});
      expect(epoch).not.toBe(answers.epoch);
      await again.stop();
    }));

  test.for(someOf(['migration.copied', 'migration.changed', 'migration.done'], 2))(
    'Data are whole after a kill at %s during the start that migrates them, and the next start continues.',
    (point) =>
      withOld(version, async ({ directory, copy }) => {
        const before = await dump(storeIn(directory));
        const env = { CADRE_FAILPOINTS: `${point}=kill` };
        await expect(startServer(directory, { env })).rejects.toThrow('SIGKILL');
        await startAndStop(directory);
        expect(await dump(copy)).toEqual(before);
        const done = await runHere(directory, ['--data-dir', directory, 'db', 'rollback', '--yes']);
        expect(done.code).toBe(0);
        expect(await dump(storeIn(directory))).toEqual(before);
      }),
  );

  const killed = [
    { point: 'rollback.prepared', isBack: false },
    { point: 'rollback.kept', isBack: false },
    { point: 'rollback.done', isBack: true },
  ];

  test.for(someOf(killed, 2))(
    'After a kill of the rollback at $point, either the older or the newer data are whole.',
    ({ point, isBack }) =>
      withOld(version, async ({ directory }) => {
        const before = await dump(storeIn(directory));
        await startAndStop(directory);
        const after = await dump(storeIn(directory));
        const args = ['--data-dir', directory, 'db', 'rollback', '--yes'];
        const env = { CADRE_FAILPOINTS: `${point}=kill` };
        expect((await runCadre(directory, args, { env })).code).toBeNull();
        expect(await dump(storeIn(directory))).toEqual(isBack ? before : after);
        expect((await runHere(directory, args)).code).toBe(isBack ? 3 : 0);
        expect(await dump(storeIn(directory))).toEqual(before);
        const left = fs.readdirSync(directory).filter((name) => /part$|^backup-/.test(name));
        expect(left).toEqual([]);
      }),
  );

  test('A start refuses the data of a newer version, and the error names the next step.', () =>
    withOld(version, async ({ directory, copy }) => {
      const before = await dump(storeIn(directory));
      await startAndStop(directory);
      await change(
        directory,
        "PRAGMA user_version = 999; UPDATE meta SET value = '9.1.0' WHERE key = 'written_by'",
      );
      await expect(startServer(directory)).rejects.toThrow(
        /the data directory has data format 999 of cadre 9\.1\.0, but cadre .*: use the newer version of cadre, or restore older data.*"run cadre db rollback --data-dir [^"]+"/,
      );
      const args = ['--data-dir', directory, 'db', 'rollback'];
      const refused = await runHere(directory, args);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') });
      const declined = await runHere(directory, args, { isTerminal: true, stdin: 'n\n' });
      expect(declined).toMatchObject({
        code: 5,
        stderr: expect.stringMatching(/roll back\? \[y\/N\] [^]*nothing was changed\n$/),
      });
      const done = await runHere(directory, args, { isTerminal: true, stdin: 'y\n' });
      expect(done.stdout).toMatch(
        /^Rolled back to the data of cadre .*\n(?: .*\n)?  kept +(\S+)\n  undo +cadre db rollback \1 --data-dir \S+\n$/,
      );
      expect(done.stderr).toContain(copy);
      expect(await dump(storeIn(directory))).toEqual(before);
    }));
});

test('cadre db rollback reports a missing copy, and a file that is not a copy.', async () => {
  await using own = tempDirectory();
  const [version = ''] = releases;
  unpack(version, own.path);
  const rollback = (...more: string[]) =>
    runHere(own.path, ['--data-dir', own.path, 'db', 'rollback', '--yes', ...more]);
  const before = await dump(storeIn(own.path));
  expect(await rollback()).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('contains no data from before an upgrade'),
  });
  fs.writeFileSync(path.join(own.path, 'nonsense'), 'nonsense '.repeat(1000));
  const nonsense = await rollback('nonsense');
  expect([nonsense.code, nonsense.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot read .*nonsense as a database of cadre .*: name another file/),
  ]);
  expect((await rollback('nowhere')).code).toBe(3);
  expect(await dump(storeIn(own.path))).toEqual(before);
});
