import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { scaled } from '../../support/patience.ts';
import { unprivileged } from '../hostile/unprivileged.ts';
import type { Process } from '../../../src/api/processes.ts';
import { ended, kill, printed, run } from '../../support/processes/work.ts';
import { hasSandbox } from '../../support/sandbox/available.ts';
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

/** With a list of hosts, the port of the server has the tools of agents, and nothing else. */
const OPEN_WITH_HOSTS = ['the port of the server', ...OPEN];
/** The number of attempts that succeed without a sandbox, at least: they show that the attempts are real. */
const CONTROLS = 25;

const users: [string, User][] = [
  ['the user of the tests', undefined],
  ...(unprivileged ? [['an unprivileged user', unprivileged] as [string, User]] : []),
];

describe.skipIf(!hasSandbox || !hasPython).each(users)('a hostile process of %s', (_name, user) => {
  test('A hostile process leaves the sandbox by no attempt but the listed ones, and without a sandbox by many.', async () => {
    const bare = await withSandboxFixture({ user, mode: 'off' }, tryEscapes);
    const tryInside = (network: 'none' | 'hosts') =>
      withSandboxFixture({ user, mode: 'require', network }, async (fixture) => {
        const escapes = await tryEscapes(fixture);
        const { sandbox } = await fixture.server.client.call(endpoints.getHealth, {});
        expect(sandbox?.level).toMatch(/full|partial/);
        return escapes;
      });
    const inside = await tryInside('none');
    const withHosts = await tryInside('hosts');
    const attempts = Object.keys(inside.got).filter((name) => !name.startsWith('work: ')).length;
    console.log(
      `${attempts} attempts: ${succeeded(bare).length} succeed without a sandbox, ${succeeded(inside).length} inside; ` +
        `files changed outside: ${bare.planted.length} without a sandbox, ${inside.planted.length} inside`,
    );
    expect(failedWork(inside)).toEqual([]);
    expect(succeeded(bare).length).toBeGreaterThanOrEqual(CONTROLS);
    expect(bare.planted.length).toBeGreaterThanOrEqual(10);
    expect(succeeded(inside)).toEqual(OPEN);
    expect(inside.planted).toEqual([]);
    expect(failedWork(withHosts)).toEqual([]);
    expect(succeeded(withHosts).toSorted()).toEqual(OPEN_WITH_HOSTS.toSorted());
    expect(withHosts.planted).toEqual([]);
  });
});

/** Starts three processes without the environment, group and parent by which the keeper finds processes; each sleeps for `seconds`. */
const hoppers = (seconds: string) => `
env -i setsid sleep ${seconds} </dev/null >/dev/null 2>&1 &
(env -i setsid sh -c 'setsid sleep ${seconds} & exit 0' </dev/null >/dev/null 2>&1 &)
env -i perl -e 'fork and exit; require POSIX; POSIX::setsid(); fork and exit; exec "sleep", "${seconds}"' </dev/null >/dev/null 2>&1
`;

/** Returns the processes that sleep for so long. */
function sleepersOf(seconds: string): number[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const words = fs.readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0');
      return words[0] === 'sleep' && words[1] === seconds ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** How a command ends. Each way resolves once the command or the server has ended. */
const ways: [how: string, end: (fixture: SandboxFixture, command: Process) => Promise<unknown>][] =
  [
    [
      'the end of the command',
      async ({ server }, command) => {
        const params = { process_id: command.process_id };
        await server.client.call(endpoints.writeToProcess, { params, body: { eof: true } });
        await ended(server, command);
      },
    ],
    ['a kill of the command', ({ server }, command) => kill(server, command)],
    ['a SIGKILL of the server', ({ server }) => server.end('SIGKILL')],
  ];

describe.skipIf(!hasSandbox)('processes that leave their group', () => {
  test.each(ways)(
    'After %s, no process of a sandbox is left, and without a sandbox all are.',
    async (how, end) => {
      const left: Record<string, number> = {};
      for (const mode of ['off', 'require'] as const) {
        const way = ways.findIndex(([one]) => one === how);
        const seconds = `86${mode.length}${way}.${process.pid}`;
        const network = mode === 'require' ? 'hosts' : 'none';
        await withSandboxFixture({ user: undefined, mode, network }, async (fixture) => {
          const { server, session } = fixture;
          const more = { ...session, stdin: 'pipe' as const };
          const command = `${hoppers(seconds)} sleep 0.3; echo ready; cat`;
          const started = await run(server, command, more);
          await printed(server, started, 'ready');
          await expectEventually(() => sleepersOf(seconds)).toHaveLength(3);
          await end(fixture, started);
          if (mode === 'require') await expectEventually(() => sleepersOf(seconds)).toEqual([]);
          left[mode] = sleepersOf(seconds).length;
          for (const pid of sleepersOf(seconds)) process.kill(pid, 'SIGKILL');
        });
      }
      expect(left).toEqual({ off: 3, require: 0 });
    },
  );

  const rounds = Number(process.env.SANDBOX_KILLS ?? 5);
  const limit = { timeout: scaled(60_000 + rounds * 10_000) };
  test('No process is left after commands are killed at any moment, ten at once.', limit, () =>
    withSandboxFixture({ user: undefined, mode: 'require' }, async ({ server, session }) => {
      const seconds = `8651.${process.pid}`;
      const killOne = async (delay: number) => {
        const started = await run(server, `${hoppers(seconds)} sleep ${seconds}`, session);
        await sleep(delay);
        await kill(server, started);
      };
      for (let round = 0; round < rounds; round++)
        await Promise.all(Array.from({ length: 10 }, (_, n) => killOne((round * 7 + n * 11) % 61)));
      await expectEventually(() => sleepersOf(seconds)).toEqual([]);
    }),
  );

  test('No process is left if the server is killed while a sandbox starts.', limit, async () => {
    for (let round = 0; round < rounds; round++) {
      const seconds = `8650.${process.pid}${round}`;
      const network = round % 2 === 0 ? 'hosts' : 'none';
      await withSandboxFixture(
        { user: undefined, mode: 'require', network },
        async ({ server, session }) => {
          await run(server, 'true', session);
          await run(server, `sleep ${seconds}`, session);
          await sleep((round * 7) % 11);
          await server.end('SIGKILL');
          await expectEventually(() => sleepersOf(seconds)).toEqual([]);
        },
      );
    }
  });
});
