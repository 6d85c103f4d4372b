import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { canLimit, limit, openFilesOf } from '../../support/processes/limits.ts';
import { withRuntime } from '../../support/runtime.ts';
import { testServer } from '../../support/server.ts';
import { shared } from '../../support/shared.ts';
import { canMount, onSmallDisk, refused, whole } from '../../support/small-disk.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession, runTurn, send } from '../../support/turns.ts';
import { create, makeRepository } from '../../support/worktrees/work.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { scaled } from '../../support/patience.ts';

const canBeOthers =
  process.getuid?.() === 0 && spawnSync('setpriv', ['--reuid=65534', 'true']).status === 0;

const NOBODY = 65_534;

// A kill on it: test/campaigns/disk.test.ts.
describe.skipIf(!canMount)('a disk that is really full', () => {
  it('A killed server starts below min_free_bytes, answers reads, refuses new work and recovers by itself.', () =>
    onSmallDisk(
      async ({ client, fill, free, restart }, directory) => {
        const { id } = await openSession(client, directory);
        await runTurn(client, id, 'say before');
        fill(2 * 1024 * 1024);
        const before = await whole(client);
        const again = await restart();
        expect((await again.call(endpoints.getHealth, {})).checks.store).toMatchObject({
          status: 'degraded',
          detail: expect.stringContaining('min_free_bytes'),
        });
        const sessions = await again.call(endpoints.listSessions, {});
        expect(sessions.map((session) => session.id)).toEqual([id]);
        expect((await whole(again)).slice(0, before.length)).toEqual(before);
        const refusal = await refused(() => openSession(again, directory));
        expect(refusal).toMatchObject({ code: 'storage_full' });
        free();
        const opens = async () => openSession(again, directory).then(Boolean, () => false);
        await expectEventually(opens).toBe(true);
      },
      { size: '24m', minFree: 8 * 1024 * 1024 },
    ));

  it('A worktree for whose files the disk has no room is refused with storage_full, and can be created later.', () =>
    onSmallDisk(async ({ client, fill, free }, directory) => {
      const repo = makeRepository(path.join(directory, 'repo'));
      const { id: session } = await openSession(client, repo);
      for (const [worktree_name, leave] of [
        ['one', 4096],
        ['two', 20_000],
      ] as const) {
        fill(leave);
        const refusal = create({ client, session }, { worktree_name });
        await expect(refusal).rejects.toMatchObject({ code: 'storage_full' });
        free();
        const made = await create({ client, session }, { worktree_name });
        expect(made.status).toBe('active');
      }
    }));

  it('A merge for which the disk has no room is refused with storage_full, and can be made later.', () =>
    onSmallDisk(async ({ client, data, fill, free }, directory) => {
      const source = makeRepository(path.join(directory, 'source'));
      fs.cpSync(source, path.join(data, '../repo'), { recursive: true });
      const repo = path.join(directory, 'mounted/repo');
      const { id: session } = await openSession(client, repo);
      const tree = await create({ client, session });
      const files = path.join(data, path.relative(path.join(directory, 'mounted/data'), tree.path));
      fs.writeFileSync(path.join(files, 'new.txt'), 'new\n');
      const merge = (body: object) =>
        client.call(endpoints.mergeWorktree, {
          params: { worktree_id: tree.id },
          body: { commit_message: 'new', ...body },
        });
      const person = '[user]\n\tname = Ada\n\temail = ada@example.org\n';
      fs.appendFileSync(path.join(data, '../repo/.git/config'), person);
      for (const leave of [0, 20_000]) {
        fill(leave);
        for (const dry_run of [true, false])
          await expect(merge({ dry_run })).rejects.toMatchObject({ code: 'storage_full' });
        free();
      }
      expect((await merge({ dry_run: false })).outcome).toBe('done');
    }));

  it('A start on a full disk leaves no token file without a token.', () =>
    onSmallDisk(async ({ data, fill, free, restart }) => {
      const token = path.join(data, 'auth', 'token');
      fs.rmSync(token);
      fill();
      await expect(restart()).rejects.toThrow('no space left on device');
      expect(fs.readdirSync(path.dirname(token))).toEqual([]);
      free();
      await restart();
    }));

  it('A server does not start without a free byte, and loses nothing.', () =>
    onSmallDisk(async ({ client, fill, free, restart }, directory) => {
      const { id } = await openSession(client, directory);
      await runTurn(client, id, 'say before');
      const before = await whole(client);
      fill();
      await expect(restart()).rejects.toThrow('"code":"storage_full"');
      free();
      const again = await restart();
      expect((await whole(again)).slice(0, before.length)).toEqual(before);
      expect((await runTurn(again, id, 'say after')).turn).toMatchObject({ text: 'after' });
    }));
});

describe.skipIf(!canLimit)('a server that may open no more files', () => {
  it('A server without free file descriptors fails the turn with the reason, and recovers by itself.', async () => {
    const { client, pid, directory } = await testServer();
    const { id } = await openSession(client, directory);
    const restore = limit(pid, 'nofile', openFilesOf(pid) + 1);
    const { turn_id } = await send(client, id, 'say hello');
    const params = { session_id: id, turn_id };
    await expectEventually(
      async () => (await client.call(endpoints.getTurn, { params })).status,
    ).toBe('failed');
    const { error } = await client.call(endpoints.getTurn, { params });
    expect(error?.code).toBe('provider_unavailable');
    expect((await client.call(endpoints.getSession, { params })).status).toBe('ready');
    restore();
    expect((await runTurn(client, id, 'say hello')).turn.status).toBe('completed');
  });

  it('A keeper that cannot be replaced without a free descriptor is replaced once there is one.', async () => {
    const server = await testServer();
    const { client, pid, directory } = server;
    const { id } = await openSession(client, directory);
    await runTurn(client, id, 'say hello');
    const keeper = async () =>
      (await client.call(endpoints.getDiagnostics, {})).children.keeper_pid;
    const first = await keeper();
    const restore = limit(pid, 'nofile', 3);
    process.kill(first ?? Number.NaN, 'SIGKILL');
    await expect.poll(() => server.log()).toContain('cannot start a keeper');
    restore();
    await expectEventually(keeper).toEqual(expect.any(Number));
  });

  it('Without free descriptors, no worktree, repository or branch counts as missing.', async () => {
    const { client, pid, directory } = await testServer();
    const repository = makeRepository(path.join(directory, 'repository'));
    const { id } = await openSession(client, repository);
    const make = (worktree_name: string) =>
      client.call(endpoints.createWorktree, { body: { source_session_id: id, worktree_name } });
    const worktree = await make('first');
    const params = { worktree_id: worktree.id };
    const restore = limit(pid, 'nofile', 3);
    await expect(make('second')).rejects.toMatchObject({ code: 'internal' });
    const dry = { params, body: { dry_run: true } };
    await expect(client.call(endpoints.mergeWorktree, dry)).rejects.toMatchObject({
      code: 'internal',
    });
    const claim = client.call(endpoints.claimWorktree, { params, body: { session_id: id } });
    await expect(claim).rejects.toMatchObject({ code: 'internal' });
    restore();
    expect(await client.call(endpoints.getWorktree, { params })).toMatchObject({
      status: 'active',
    });
    expect(await make('second')).toMatchObject({ status: 'active' });
  });
});

describe.skipIf(!canBeOthers)('a data directory that the user may not write', () => {
  /** One that a server has left, which each test copies. */
  const left = shared<string>('directory', async (use) => {
    await using place = tempDirectory('left');
    await withRuntime(async () => undefined, { directory: place.path });
    await use(place.path);
  });

  it.each([
    ['of somebody else', (data: string) => fs.chownSync(data, 0, 0)],
    [
      'whose database is read-only',
      (data: string) => fs.chmodSync(path.join(data, 'events.cadre'), 0o400),
    ],
    ['that cannot be made', (data: string) => fs.rmSync(data, { recursive: true })],
  ])(
    'A data directory %s ends the start with what to do, and nothing changes.',
    async (_what, forbid) => {
      await using place = tempDirectory('readonly');
      const data = path.join(place.path, 'data');
      fs.cpSync(left(), data, { recursive: true });
      for (const name of ['', ...fs.readdirSync(data, { recursive: true })])
        fs.chownSync(path.join(data, String(name)), NOBODY, NOBODY);
      // Other users cannot enter the directory that contains the directories of tests.
      fs.chmodSync(path.dirname(place.path), 0o711);
      fs.chmodSync(place.path, 0o755);
      forbid(data);
      const content = () => fs.existsSync(data) && fs.readFileSync(path.join(data, 'events.cadre'));
      const before = content();
      const { file, args } = selfCommand();
      const serve = [file, ...args, '--data-dir', data, 'serve', '--demo', '--port', '0'];
      const ended = spawnSync(
        'setpriv',
        [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...serve],
        {
          env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
          encoding: 'utf8',
          timeout: scaled(10_000),
        },
      );
      expect(ended.stderr).toMatch(/^cadre: [^\n]*(make it|user)[^\n]*\n$/);
      expect(ended.status).toBeGreaterThan(0);
      expect(content()).toEqual(before);
    },
  );
});
