import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { settle } from '../../support/settle.ts';
import { withDemo } from '../../support/demo-server.ts';
import { type TestRuntime, testRuntime } from '../../support/runtime.ts';
import { startServer, type TestServer, withServer } from '../../support/server.ts';
import { shared } from '../../support/shared.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { cadreOn, type Ended, runCadre, runHere, expectFailure } from '../../support/cli/cadre.ts';

interface Copied {
  path: string;
  bytes: number;
  seq: number;
}

/** A server with a completed turn, to which tests may add sessions. */
const history = shared<TestRuntime>('server', (use) =>
  withDemo(async (server) => {
    await speak(server);
    await use(server);
  }),
);

async function speak({ client, directory }: TestRuntime | TestServer): Promise<void> {
  const { id } = await openSession(client, directory);
  await runTurn(client, id, 'say hello');
}

/** A data directory whose server has stopped, or was killed. */
const stoppedBy = {
  SIGTERM: shared<{ directory: string }>('directory', async (use) => {
    await using own = tempDirectory('server');
    await withDemo(speak, { directory: own.path });
    await use({ directory: own.path });
  }),
  SIGKILL: shared<{ directory: string }>('directory', (use) =>
    withServer(async (server) => {
      await speak(server);
      await server.end('SIGKILL');
      await use(server);
    }),
  ),
};

/** Runs a test with a copy of such a directory. */
async function withStopped(
  signal: 'SIGTERM' | 'SIGKILL',
  test: (directory: string, cadre: (args: readonly string[]) => Promise<Ended>) => Promise<void>,
): Promise<void> {
  await using copy = tempDirectory('server');
  fs.cpSync(stoppedBy[signal]().directory, copy.path, { recursive: true });
  await test(copy.path, cadreOn({ directory: copy.path }));
}

const eventsOf = ({ client }: TestRuntime | TestServer) =>
  client.call(endpoints.replayEvents, { query: { limit: 10_000 } });

function damage(file: string): void {
  const bytes = fs.readFileSync(file);
  bytes.write('SESSION', bytes.lastIndexOf('"session.created"') + 1);
  fs.writeFileSync(file, bytes);
}

test('A backup is one private file, from which a new server has the whole log.', async () => {
  const server = history();
  const other = testDirectory();
  const file = path.join(other, 'events.cadre');
  const { code, stdout, stderr } = await cadreOn(server)(['db', 'backup', file]);
  const { size, mode } = fs.statSync(file);
  const events = await eventsOf(server);
  const seq = events.at(-1)?.seq ?? 0;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`Backed up to ${file} (${size} bytes, up to event ${seq})\n`);
  expect(mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(other)).toEqual(['events.cadre']);
  const copy = await testRuntime({ directory: other });
  const found = (await eventsOf(copy)).filter((event) => event.seq <= seq);
  expect(settle(found)).toEqual(settle(events));
});

test('A backup with --json prints JSON, and its path is relative to the current directory.', async () => {
  const server = history();
  await using place = tempDirectory();
  const cadre = cadreOn(server);
  const copied = await cadre(['db', 'backup', 'copy', '--json'], { cwd: place.path });
  const file = path.join(place.path, 'copy');
  expect(copied.json()).toEqual({
    path: file,
    bytes: fs.statSync(file).size,
    seq: expect.any(Number),
  });
});

test('A backup never overwrites a file, and fails if the file cannot be written.', async () => {
  const server = history();
  const cadre = cadreOn(server);
  await using place = tempDirectory();
  const file = path.join(place.path, 'copy');
  fs.writeFileSync(file, 'mine');
  expectFailure(await cadre(['db', 'backup', file]), 7, /already exists: choose another file/);
  expect(fs.readFileSync(file, 'utf8')).toBe('mine');
  fs.writeFileSync(`${file}2.part`, 'theirs');
  expectFailure(await cadre(['db', 'backup', `${file}2`]), 7, /wait for the other backup/);
  const nowhere = path.join(place.path, 'nowhere', 'copy');
  expectFailure(await cadre(['db', 'backup', nowhere]), 2, /cannot write .*ENOENT/);
  expect(fs.readdirSync(place.path).toSorted()).toEqual(['copy', 'copy2.part']);
});

test('A backup with a read-only token is refused and leaves no file.', async () => {
  const server = history();
  await using place = tempDirectory();
  const { secret } = await server.client.call(endpoints.createToken, {
    body: { name: 'eyes', scope: 'read' },
  });
  const env = { CADRE_TOKEN: secret };
  const refused = await cadreOn(server)(['db', 'backup', path.join(place.path, 'c')], { env });
  expectFailure(refused, 5, /this token is read-only/);
  expect(fs.readdirSync(place.path)).toEqual([]);
});

test.for(['SIGTERM', 'SIGKILL'] as const)(
  'A backup after %s copies the files without a server and does not change them.',
  (signal) =>
    withStopped(signal, async (directory, cadre) => {
      await using other = tempDirectory();
      const file = path.join(other.path, 'copy');
      const stores = fs.readdirSync(directory).filter((name) => name.startsWith('events.cadre'));
      const contents = () => stores.map((name) => fs.readFileSync(path.join(directory, name)));
      const [names, before] = [fs.readdirSync(directory), contents()];
      const copied = await cadre(['db', 'backup', file, '--json']);
      expect((copied.json() as Copied).seq).toBeGreaterThan(5);
      expect(contents()).toEqual(before);
      expect(fs.readdirSync(directory)).toEqual(names);
      expect((await cadre(['db', 'check', file])).code).toBe(0);
    }),
);

test('A backup without a database fails and creates nothing.', async () => {
  await using place = tempDirectory();
  const args = ['--data-dir', place.path, 'db', 'backup', path.join(place.path, 'copy')];
  expectFailure(
    await runHere(place.path, args),
    3,
    /the database events\.cadre does not exist in .*--data-dir/,
  );
  expect(fs.readdirSync(place.path)).toEqual([]);
});

test('cadre db check of a running server checks a temporary copy of the database.', async () => {
  const server = history();
  const cadre = cadreOn(server);
  const { code, stdout, stderr } = await cadre(['db', 'check']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Checked \d+ rows in \d+\.\d MiB: ok\n$/);
  const report = (await cadre(['db', 'check', '--json'])).json();
  expect(report).toMatchObject({ ok: true, damage: [], rows: expect.any(Number) });
  const left = () =>
    fs.readdirSync(process.env.TMPDIR ?? '/tmp').filter((name) => name.startsWith('cadre-check-'));
  // A test in another file may check a copy at the same time, which is removed later.
  await expectEventually(left).toEqual([]);
});

test('The check covers the rows of teams and worktrees.', async () => {
  const server = history();
  const { client, directory } = server;
  const { id } = await openSession(client, directory);
  await client.call(endpoints.createTeam, { body: { name: 'x', lead_agent_id: id } });
  const repo_root = makeRepository(path.join(directory, 'repository'));
  await client.call(endpoints.createWorktree, {
    body: { source_session_id: id, repo_root, worktree_name: 'tree' },
  });
  const { code, stdout } = await cadreOn(server)(['db', 'check']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/: ok\n$/)]);
});

test.for(['SIGTERM', 'SIGKILL'] as const)(
  'The check after %s reads the files without a server.',
  (signal) =>
    withStopped(signal, async (_directory, cadre) => {
      const { code, stdout } = await cadre(['db', 'check']);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/ok\n$/)]);
    }),
);

test('The check prints each damaged row with the remedy and ends with 1.', () =>
  withStopped('SIGTERM', async (directory, cadre) => {
    damage(path.join(directory, 'events.cadre'));
    const { code, stdout, stderr } = await cadre(['db', 'check']);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(
      /^events, row \d+: the row differs from what was written: stop the server and restore a backup\nChecked \d+ rows in .*: 1 damaged\n$/,
    );
    const json = await cadre(['db', 'check', '--json']);
    expect([json.code, json.json()]).toMatchObject([
      1,
      { ok: false, damage: [{ table: 'events', row: expect.any(Number) }] },
    ]);
  }));

test('cadre db check reports a missing file, and a file that is not a database.', async () => {
  const server = history();
  await using place = tempDirectory();
  const cadre = cadreOn(server);
  const file = path.join(place.path, 'copy');
  expectFailure(await cadre(['db', 'check', file]), 3, /file .* not found/);
  expectFailure(await cadre(['db', 'check', place.path]), 3, /file .* not found/);
  fs.writeFileSync(file, 'nonsense '.repeat(1000));
  expectFailure(await cadre(['db', 'check', file]), 1, /not a database.*: use another backup$/m);
});

test('cadre db check refuses the file that a server has open.', async () => {
  const server = history();
  const file = path.join(server.directory, 'events.cadre');
  expectFailure(await cadreOn(server)(['db', 'check', file]), 7, /another server \(pid \d+\)/);
});

test('cadre db reports an unusable data directory in one line, and does not blame the copy.', async () => {
  await using place = tempDirectory();
  fs.writeFileSync(path.join(place.path, 'events.cadre'), 'x');
  // Not even root can open a directory as the lock file.
  fs.mkdirSync(path.join(place.path, 'lock'));
  const cadre = (...args: string[]) =>
    runHere(place.path, ['--data-dir', place.path, 'db', ...args]);
  const says = new RegExp(
    `^cadre: cannot use ${place.path} .*EISDIR.*: run this command as the owner`,
  );
  expectFailure(await cadre('check'), 2, says);
  expectFailure(await cadre('check', 'events.cadre'), 2, says);
  expectFailure(await cadre('backup', 'copy'), 2, says);
  expect(fs.readdirSync(place.path).toSorted()).toEqual(['events.cadre', 'lock']);
});

test('cadre status shows the size of the database.', async () => {
  const server = history();
  expect((await cadreOn(server)(['status'])).stdout).toMatch(/^database +\d+\.\d MiB$/m);
});

/** Runs a test with the directory of a killed server and a backup of it. */
const withLost = (
  test: (
    directory: string,
    cadre: (args: readonly string[]) => Promise<Ended>,
    backup: string,
  ) => Promise<void>,
) =>
  withStopped('SIGKILL', async (directory, cadre) => {
    await using place = tempDirectory('backup');
    const backup = path.join(place.path, 'copy.cadre');
    expect((await cadre(['db', 'backup', backup])).code).toBe(0);
    await test(directory, cadre, backup);
  });

test.each(['missing', 'empty'])(
  'A restore replaces a database that is %s and keeps its log.',
  (state) =>
    withLost(async (directory, cadre, backup) => {
      const file = path.join(directory, 'events.cadre');
      const log = fs.readFileSync(`${file}-wal`);
      if (state === 'missing') fs.rmSync(file);
      else fs.truncateSync(file);
      await expect(startServer(directory)).rejects.toThrow(
        `${state}, but other files of that database still exist (events.cadre-wal, events.cadre.anchor, `,
      );
      const done = await cadre(['db', 'restore', backup, '--yes', '--json']);
      expect(done.code).toBe(0);
      const { replaced } = JSON.parse(done.stdout) as { replaced: string[] };
      expect(fs.readFileSync(replaced.at(-1) ?? '').equals(log)).toBe(true);
      await withDemo(
        async (server) => {
          expect((await eventsOf(server)).map(({ kind }) => kind)).toContain('turn.completed');
          const { events_lost } = await server.client.call(endpoints.getRecovery, {});
          expect(events_lost).toBeNull();
        },
        { directory },
      );
    }),
);

test('A restore asks before it replaces a database, and gives the log a new epoch.', () =>
  withStopped('SIGTERM', async (directory, cadre) => {
    await using place = tempDirectory('backup');
    const backup = path.join(place.path, 'copy.cadre');
    await cadre(['db', 'backup', backup]);
    const before = fs.readFileSync(path.join(directory, 'events.cadre'));
    expectFailure(await cadre(['db', 'restore', backup]).then(lastLine), 2, /pass --yes/);
    const args = ['--data-dir', directory, 'db', 'restore', backup];
    const declined = await runHere(directory, args, { isTerminal: true, stdin: 'n\n' });
    expect([declined.code, declined.stderr]).toEqual([
      5,
      expect.stringMatching(/nothing was changed\n$/),
    ]);
    expect(fs.readFileSync(path.join(directory, 'events.cadre')).equals(before)).toBe(true);
    const done = await runHere(directory, args, { isTerminal: true, stdin: 'y\n' });
    expect(done.stdout).toMatch(
      /^Restored .*\n {2}kept {4}.*replaced-.*\n {2}start {3}cadre serve --data-dir \/.*\n$/,
    );
  }));

test('A restore creates a data directory from a backup.', () =>
  withLost(async (directory, _cadre, backup) => {
    const fresh = path.join(directory, 'fresh', 'data');
    const done = await runHere(directory, ['--data-dir', fresh, 'db', 'restore', backup]);
    expect(done.code).toBe(0);
    await withDemo(
      async (server) => {
        expect((await eventsOf(server)).map(({ kind }) => kind)).toContain('turn.completed');
      },
      { directory: fresh },
    );
  }));

test('A restore refuses a damaged or missing backup and a running server, and changes nothing.', () =>
  withLost(async (directory, cadre, backup) => {
    const names = fs.readdirSync(directory);
    const missing = await cadre(['db', 'restore', `${backup}.not`, '--yes']);
    expectFailure(missing, 3, /file .* not found/);
    damage(backup);
    const damaged = await cadre(['db', 'restore', backup, '--yes']);
    expectFailure(damaged, 1, /has damaged rows \(1\), so nothing was changed/);
    expect(fs.readdirSync(directory)).toEqual(names);
    const copy = path.join(directory, 'other.cadre');
    await cadreOn(history())(['db', 'backup', copy]);
    const running = await cadreOn(history())(['db', 'restore', copy, '--yes']);
    expectFailure(running, 7, /another server \(pid \d+\)/);
  }));

test.each(['restore.prepared', 'restore.moved'])(
  'A restore that is killed at %s leaves the old data or a refusal, and a repeat completes it.',
  (point) =>
    withLost(async (directory, cadre, backup) => {
      const args = ['--data-dir', directory, 'db', 'restore', backup, '--yes'];
      const env = { CADRE_FAILPOINTS: `${point}=kill` };
      expect((await runCadre(directory, args, { env })).code).toBeNull();
      if (point === 'restore.moved')
        await expect(startServer(directory)).rejects.toThrow('or restore a backup');
      expect((await cadre(['db', 'restore', backup, '--yes'])).code).toBe(0);
      const left = fs.readdirSync(directory).filter((name) => /part$|^backup-/.test(name));
      expect(left).toEqual([]);
      expect((await cadre(['db', 'check'])).code).toBe(0);
    }),
);

/** Returns the last line of stderr, without the plan before it. */
function lastLine({ stderr, ...rest }: Ended): Ended {
  return { ...rest, stderr: `${stderr.trim().split('\n').at(-1)}\n` };
}
