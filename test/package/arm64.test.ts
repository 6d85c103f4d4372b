import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findProgram } from '../../src/core/lib/find-program.ts';
import { tempDirectory } from '../support/temp.ts';

const QEMU = 'qemu-aarch64';
const executable = path.resolve('out/cadre-linux-arm64');
const why = hindrance();

/**
 * With `--demo` the server starts itself as the agent, which the kernel refuses for a program of arm64; so the agent is
 * named in the configuration, with the emulator before it. The emulator shows the true state of a process only to the
 * process itself, so the client receives the address instead of looking for the server.
 */
test.skipIf(why !== null)(
  `The executable for arm64 says its version, serves, runs a turn and stops${why ? ` (skipped: ${why})` : ''}.`,
  async () => {
    await using place = tempDirectory();
    const config = path.join(place.path, 'config.toml');
    const agent = `command = "${QEMU}"\nargs = ["${executable}", "demo-agent"]`;
    fs.writeFileSync(config, `server.bind_address = "127.0.0.1:0"\n[providers.acp]\n${agent}\n`);
    const { PATH, QEMU_LD_PREFIX, LD_LIBRARY_PATH } = process.env;
    const env = {
      PATH,
      QEMU_LD_PREFIX,
      LD_LIBRARY_PATH,
      TMPDIR: process.env.TMPDIR,
      CADRE_CONFIG: config,
      HOME: place.path,
    };
    const run = (...args: string[]) =>
      spawnSync(QEMU, [executable, ...args], { env, encoding: 'utf8' });
    const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };
    expect(run('--version').stdout).toBe(`${version}\n`);
    expect(run('licenses').stdout).toMatch(/^ {2}node 24\.\d+\.\d+, MIT/m);

    const server = spawn(QEMU, [executable, 'serve'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      let said = '';
      while (!/listens on (\S+)/.test(said)) {
        const [chunk] = (await once(server.stdout, 'data')) as [Buffer];
        said += chunk.toString();
      }
      const url = /listens on (\S+)/.exec(said)?.[1] ?? '';
      const token = path.join(place.path, '.local/share/cadre/auth/token');
      const turn = run('--url', url, '--token-file', token, 'run', 'say hello');
      expect([turn.stderr, turn.stdout, turn.status]).toEqual(['', 'hello\n', 0]);
    } finally {
      server.kill('SIGTERM');
      const [code] = (await once(server, 'exit')) as [number | null];
      expect(code).toBe(0);
    }
  },
);

/** Why the executable for arm64 cannot be started here; null: it can. */
function hindrance(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'for machines of x64';
  if (!fs.existsSync(executable)) return '`make dist` has not built it';
  if (findProgram(QEMU, process.env.PATH) === null) return `no ${QEMU}, Debian's qemu-user`;
  const { status } = spawnSync(QEMU, [executable, '--version']);
  return status === 0 ? null : "no libraries of arm64, Debian's libstdc++6-arm64-cross";
}
