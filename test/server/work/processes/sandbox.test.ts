import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { carriersOf } from '../../../../src/core/children/procfs.ts';
import { findProgram } from '../../../../src/core/lib/find-program.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import {
  ended,
  get,
  kill,
  logs,
  printed,
  ranTo,
  run,
  stdout,
} from '../../../support/processes/work.ts';
import {
  sharedRuntime,
  type TestRuntime,
  withRuntime,
  testRuntime,
} from '../../../support/runtime.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { tempDirectory, testDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';

interface Harness extends TestRuntime {
  root: string;
  session: { session_id: string };
}

const options = (more?: Record<string, unknown>) => ({
  providers: [scriptedProvider()],
  config: required(more),
});
const shared = sharedRuntime(options());

/** Runs a test with a session whose processes run in a sandbox. */
async function withHarness(
  test: (harness: Harness) => Promise<void>,
  given: TestRuntime = shared(),
): Promise<void> {
  await using directory = tempDirectory('root');
  const root = directory.path;
  const { id } = await openSession(given.client, root);
  await test({ ...given, root, session: { session_id: id } });
}

/** A command that prints that it is ready, and then handles SIGTERM. */
const HANDLER = `trap 'echo got TERM; sleep 0.1; echo done; exit 3' TERM; echo ready; while :; do sleep 0.02; done`;

describe.skipIf(!hasSandbox)('a process in a sandbox', () => {
  test('A process of a session writes its directory, and sees neither the data directory nor other files of the user.', () =>
    withHarness(async (harness) => {
      await using other = tempDirectory('other');
      fs.writeFileSync(path.join(other.path, 'secret'), 'secret');
      const command = `echo new > file; cat ${harness.directory}/auth/token ${other.path}/secret; ls -A ~; echo $HOME $TMPDIR`;
      const over = await ranTo(harness, command, harness.session);
      expect(over).toMatchObject({ status: 'completed', sandbox: true });
      expect(fs.readFileSync(path.join(harness.root, 'file'), 'utf8')).toBe('new\n');
      const output = await logs(harness, over);
      expect(output.stderr?.content.match(/No such file or directory/g)).toHaveLength(2);
      expect(output.stdout?.content).toContain(`${os.homedir()} /tmp\n`);
      expect(await get(harness, over)).toMatchObject({ sandbox: true });
    }));

  test('Processes of a session share a home directory and /tmp, and other sessions do not see them.', () =>
    withHarness(async (harness) => {
      await ranTo(harness, 'echo mine > ~/kept; echo mine > /tmp/kept', harness.session);
      const again = await ranTo(harness, 'cat ~/kept /tmp/kept /var/tmp/kept', harness.session);
      expect(await stdout(harness, again)).toBe('mine\nmine\nmine\n');
      const other = { session_id: (await openSession(harness.client, harness.root)).id };
      expect(await stdout(harness, await ranTo(harness, 'ls ~/kept /tmp/kept', other))).toBe('');
      expect(fs.existsSync(path.join(os.homedir(), 'kept'))).toBe(false);
    }));

  test('The directories of a session are removed when the session is closed.', () =>
    withHarness(async (harness) => {
      await ranTo(harness, 'echo mine > ~/kept', harness.session);
      const own = path.join(harness.directory, 'sandbox', harness.session.session_id);
      expect(fs.existsSync(path.join(own, 'home/kept'))).toBe(true);
      await harness.client.call(endpoints.closeSession, { params: harness.session, body: {} });
      await expectEventually(() => fs.existsSync(own)).toBe(false);
    }));

  test('A process has no network, and reaches no port of the machine.', () =>
    withHarness(async (harness) => {
      const { port } = new URL(harness.url);
      const hexadecimal = Number(port).toString(16).toUpperCase().padStart(4, '0');
      const command = 'cat /proc/net/tcp; ls /sys/class/net 2>/dev/null; cat /proc/net/dev';
      const text = await stdout(harness, await ranTo(harness, command, harness.session));
      expect(text).not.toContain(hexadecimal);
      expect(text.match(/^ *\w+:(?= +\d)/gm)).toEqual([expect.stringContaining('lo:')]);
    }));

  test('A working directory outside of the sandbox is refused, and a directory below it is possible.', () =>
    withHarness(async (harness) => {
      await using other = tempDirectory('other');
      fs.mkdirSync(path.join(harness.root, 'sub'));
      const below = await ranTo(harness, 'pwd', { ...harness.session, cwd: 'sub' });
      expect(await stdout(harness, below)).toBe(`${harness.root}/sub\n`);
      await expect(
        run(harness, 'pwd', { ...harness.session, cwd: other.path }),
      ).rejects.toMatchObject(anError('invalid', /not visible in the sandbox of .*sandbox\.read/));
    }));

  test('A session at the home directory, above it or in the data directory has no sandbox.', () =>
    withHarness(async (harness) => {
      for (const cwd of [os.homedir(), '/', harness.directory]) {
        const { id } = await openSession(harness.client, cwd);
        await expect(run(harness, 'pwd', { session_id: id })).rejects.toMatchObject(
          anError('invalid', 'in the sandbox, because this directory'),
        );
      }
    }));

  test('A directory of a session that was replaced by a link is refused.', () =>
    withHarness(async (harness) => {
      await using other = tempDirectory('other');
      const cwd = path.join(harness.root, 'sub');
      fs.mkdirSync(cwd);
      const { id } = await openSession(harness.client, cwd);
      fs.rmdirSync(cwd);
      fs.symlinkSync(other.path, cwd);
      await expect(run(harness, 'pwd', { session_id: id })).rejects.toThrow(/replaced by a link/);
    }));

  test('A link that a process planted in its home directory or /tmp creates nothing outside in the next process.', () =>
    withHarness(async (harness) => {
      await using victim = tempDirectory('victim');
      const base = fs.mkdtempSync('/tmp/cadre-root-');
      try {
        const root = path.join(base, 'deep/root');
        fs.mkdirSync(root, { recursive: true });
        const session = { session_id: (await openSession(harness.client, root)).id };
        const names = `${path.basename(base)} .config .local .gitconfig $(ls -A)`;
        // Unlike mv, rename copies nothing if it fails.
        const move = `perl -e 'rename $ARGV[0], "moved-$ARGV[0]"' $name; rmdir $name; rm -f $name`;
        // Bubblewrap creates mount points while the files of the host are still at /oldroot.
        for (const target of [`/oldroot${victim.path}`, victim.path, `../../..${victim.path}`])
          for (const place of ['/tmp', '~']) {
            const plant = `cd ${place}; for name in ${names}; do ${move}; ln -s ${target} $name; done`;
            await ranTo(harness, plant, session);
            const next = await ranTo(harness, 'pwd', session);
            expect(await stdout(harness, next)).toBe(`${root}\n`);
            expect(fs.readdirSync(victim.path)).toEqual([]);
          }
      } finally {
        fs.rmSync(base, { recursive: true });
      }
    }));

  test('The git directory of a repository is visible and read-only.', () =>
    withHarness(async (harness) => {
      const git = path.join(harness.root, '.git');
      fs.mkdirSync(path.join(git, 'hooks'), { recursive: true });
      fs.writeFileSync(path.join(git, 'HEAD'), 'ref: refs/heads/main\n');
      const command =
        'cat .git/HEAD; echo x > .git/config; echo x > .git/hooks/post-commit; mv .git other; rm -rf .git; ls -A .git';
      const over = await ranTo(harness, command, harness.session);
      expect(await stdout(harness, over)).toBe('ref: refs/heads/main\nHEAD\nhooks\n');
      expect(fs.readdirSync(git).toSorted()).toEqual(['HEAD', 'hooks']);
    }));

  test('A process exits with its own code, signal, or 127 for a command that does not exist.', () =>
    withHarness(async (harness) => {
      const exit = async (command: string) => {
        const { exit_code, signal } = await ranTo(harness, command, harness.session);
        return [exit_code, signal];
      };
      expect(await exit('exit 0')).toEqual([0, null]);
      expect(await exit('exit 7')).toEqual([7, null]);
      expect(await exit('kill -TERM $$')).toEqual([null, 'SIGTERM']);
      expect(await exit('kill -KILL $$')).toEqual([null, 'SIGKILL']);
      // The number of SIGABRT has the second name SIGIOT.
      expect(await exit('kill -ABRT $$')).toEqual([null, 'SIGABRT']);
      expect(await exit('no-such-program')).toEqual([127, null]);
    }));

  test('A command that handles SIGTERM has its grace period, in a sandbox as without one.', () =>
    withHarness(async (harness) => {
      for (const owner of [harness.session, {}]) {
        const process = await run(harness, HANDLER, owner);
        await printed(harness, process, 'ready');
        await kill(harness, process);
        const over = await ended(harness, process);
        expect(over).toMatchObject({
          status: 'killed',
          exit_code: 3,
          sandbox: owner === harness.session,
        });
        expect(await stdout(harness, over)).toBe('ready\ngot TERM\ndone\n');
      }
    }));

  test('A process that is killed while its sandbox starts ends at once.', () =>
    withHarness(async (harness) => {
      for (let n = 0; n < 5; n++) {
        const process = await run(harness, 'sleep 300', harness.session);
        await kill(harness, process);
        expect(await ended(harness, process)).toMatchObject({
          status: 'killed',
          signal: 'SIGTERM',
        });
      }
    }));

  test('No process is left after the end of a command or a kill, even without group and environment.', () =>
    withHarness(async (harness) => {
      const left = path.join(harness.root, 'alive');
      const hop = `env -i setsid /bin/sh -c 'while :; do echo >> ${left}; sleep 0.02; done' </dev/null >/dev/null 2>&1 &`;
      const wait = `while [ ! -e ${left} ]; do sleep 0.01; done; echo ready`;
      for (const end of ['exit 0', 'sleep 300']) {
        const process = await run(harness, `${hop} ${wait}; ${end}`, harness.session);
        await printed(harness, process, 'ready');
        if (end !== 'exit 0') await kill(harness, process);
        await ended(harness, process);
        fs.rmSync(left);
        // A process that is left would create the file again.
        await ranTo(harness, 'sleep 0.2', harness.session);
        expect(fs.existsSync(left)).toBe(false);
        expect(carriersOf(`CADRE_PROCESS_ID=${process.process_id}`)).toEqual([]);
      }
    }));

  test('A restarted process runs in a sandbox again.', () =>
    withHarness(async (harness) => {
      const { process_id } = await ranTo(harness, 'true', harness.session);
      const { process } = await harness.client.call(endpoints.restartProcess, {
        params: { process_id },
        body: {},
      });
      expect(await ended(harness, process)).toMatchObject({ status: 'completed', sandbox: true });
    }));

  test('A process that belongs to nobody runs without a sandbox, unless the class "user" is configured.', async () => {
    await withHarness(async (harness) => {
      expect(await ranTo(harness, 'true')).toMatchObject({ sandbox: false });
    });
    const given = await testRuntime(options({ children: ['user'] }));
    const over = await ranTo(given, `cat ${given.directory}/auth/token`, {
      cwd: testDirectory('root'),
    });
    expect(over).toMatchObject({ sandbox: true, exit_code: 1 });
  });

  test('Paths of sandbox.read are read-only, and paths of sandbox.write are writable.', async () => {
    await using readable = tempDirectory('readable');
    await using writable = tempDirectory('writable');
    const more = { read: [readable.path], write: [writable.path], network: 'all' };
    await withRuntime(async (given) => {
      await withHarness(async (harness) => {
        const command = `touch ${writable.path}/new; touch ${readable.path}/new; echo $?`;
        expect(await stdout(harness, await ranTo(harness, command, harness.session))).toBe('1\n');
      }, given);
    }, options(more));
    expect(fs.readdirSync(writable.path)).toEqual(['new']);
    expect(fs.readdirSync(readable.path)).toEqual([]);
  });

  test('The health of a server names the level of its sandbox.', () =>
    withHarness(async (harness) => {
      const { sandbox } = await harness.client.call(endpoints.getHealth, {});
      expect(sandbox).toMatchObject({
        mode: 'require',
        level: expect.stringMatching(/full|partial/),
      });
    }));
});

/** Runs a test with a server that finds no bubblewrap. */
async function withoutBubblewrap(mode: string, test: (given: TestRuntime) => Promise<void>) {
  await using directory = tempDirectory('path');
  const before = process.env.PATH;
  for (const name of ['flock', 'grep', 'git', 'sleep', 'cat', 'ps', 'awk', 'lsof']) {
    const program = findProgram(name, before);
    if (program !== null) fs.symlinkSync(program, path.join(directory.path, name));
  }
  process.env.PATH = directory.path;
  try {
    const config = { sandbox: { mode, children: ['user', 'tools'] } };
    await withRuntime(test, { providers: [scriptedProvider()], config });
  } finally {
    process.env.PATH = before;
  }
}

test('A server that requires a sandbox refuses processes with the reason and a remedy, and is degraded.', () =>
  withoutBubblewrap('require', async (given) => {
    await expect(run(given, 'true')).rejects.toMatchObject(
      anError('sandbox_unavailable', /install the package bubblewrap|only on Linux/),
    );
    const health = await given.client.call(endpoints.getHealth, {});
    expect(health).toMatchObject({ status: 'degraded', sandbox: { level: 'none' } });
  }));

test('A server with the mode auto runs processes without a sandbox, and logs the reason once.', () =>
  withoutBubblewrap('auto', async (given) => {
    for (let n = 0; n < 3; n++)
      expect(await ranTo(given, 'true')).toMatchObject({ status: 'completed', sandbox: false });
    const said = given.logLines().filter(({ msg }) => String(msg).includes('without a sandbox'));
    expect(said).toEqual([
      expect.objectContaining({
        level: 'warn',
        detail: expect.stringMatching(/bubblewrap|Linux/),
      }),
    ]);
    const health = await given.client.call(endpoints.getHealth, {});
    expect(health).toMatchObject({ status: 'ok', sandbox: { mode: 'auto', level: 'none' } });
  }));

test('A server whose sandbox is off says so in its health, and does not probe.', async () => {
  const given = await testRuntime();
  const { sandbox } = await given.client.call(endpoints.getHealth, {});
  expect(sandbox).toEqual({ mode: 'off', level: 'off' });
  expect(await ranTo(given, 'true')).toMatchObject({ sandbox: false });
  expect(fs.existsSync(path.join(given.directory, 'sandbox'))).toBe(false);
});
