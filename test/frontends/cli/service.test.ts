import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identify, isAlive } from '../../../src/core/children/identity.ts';
import type { ServiceStatus } from '../../../src/frontends/cli/service/status.ts';
import { runCadre, runHere, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testRuntime } from '../../support/runtime.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

/** Returns a PATH without a service manager. */
function programs(directory: string): string {
  const bin = path.join(directory, 'bin');
  fs.mkdirSync(bin);
  for (const name of ['sh', 'flock', 'tail', 'git', 'grep', 'sleep']) {
    const found = (process.env.PATH ?? '').split(':').map((one) => path.join(one, name));
    const file = found.find((one) => fs.existsSync(one));
    if (file) fs.symlinkSync(file, path.join(bin, name));
  }
  return bin;
}

describe('serve --detach', () => {
  const place = tempDirectory('server');
  const data = path.join(place.path, '.local/share/cadre');
  const log = path.join(data, 'serve.log');
  let env: Record<string, string>;
  let started: { url: string; pid: number };
  const here = (...args: string[]) => runHere(place.path, args, { env });

  beforeAll(async () => {
    env = { PATH: programs(place.path), NOTIFY_SOCKET: '/nowhere' };
    const args = ['serve', '--detach', '--demo', '--port', '0', '--json'];
    const { code, stdout, stderr } = await runCadre(place.path, args, { env });
    if (code !== 0) throw new Error(stderr);
    started = JSON.parse(stdout) as typeof started;
  });
  afterAll(async () => {
    await here('service', 'stop');
    await untilNothingCarries(place.path);
    place[Symbol.dispose]();
  });

  test('The command returns once the server responds, as a session leader with its own log file.', async () => {
    const token_file = path.join(data, 'auth/token');
    const pid = expect.any(Number) as number;
    expect(started).toMatchObject({ pid, version: expect.any(String), token_file });
    expect(started).toMatchObject({ data_dir: data, log });
    expect((await fetch(`${started.url}/health`)).status).toBe(200);
    const stat = fs.readFileSync(`/proc/${started.pid}/stat`, 'utf8').replace(/.*\) /, '');
    expect(stat.split(' ').slice(2, 4)).toEqual([`${started.pid}`, `${started.pid}`]);
    expect(fs.statSync(log).mode & 0o777).toBe(0o600);
    // The server does not get the service manager of its starter.
    expect(fs.readFileSync(log, 'utf8')).not.toContain('systemd-notify');
  });

  test('A second server is refused, and the error names the running one.', async () => {
    const second = await here('serve', '--detach', '--demo');
    expect(second).toMatchObject({ code: 7, stdout: '' });
    expect(second.stderr).toBe(
      `cadre: a server is already running on ${data}, at ${started.url} (pid ${started.pid}): stop that server with cadre stop\n`,
    );
    const named = await here('serve', '--detach', '--data-dir', data);
    expect(named.stderr).toMatch(`: stop that server with cadre stop --data-dir ${data}\n`);
  });

  test('A failed start prints the error of the server and ends with its exit code.', async () => {
    await using other = tempDirectory('server');
    const { port } = new URL(started.url);
    const args = ['--json', 'serve', '--detach', '--port', port];
    const taken = await runHere(other.path, args, { env });
    expect(taken).toMatchObject({ code: 7, stdout: '' });
    const message = `port ${port} is in use: choose another port with --port, or any free port with --port 0`;
    expect(JSON.parse(taken.stderr)).toMatchObject({ error: { code: 'conflict', message } });
    const wrong = await runHere(other.path, ['serve', '--detach', '--bind', 'x'], { env });
    expect(wrong.code).toBe(2);
    await untilNothingCarries(other.path);
  });

  test('An unusable data directory is refused with the reason.', async () => {
    await using other = tempDirectory('server');
    const file = path.join(other.path, 'file');
    fs.writeFileSync(file, '');
    const args = ['--data-dir', path.join(file, 'data'), 'serve', '--detach'];
    const { code, stderr } = await runHere(other.path, args, { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^cadre: cannot use the data directory \S+ \(ENOTDIR.*\): .*\n$/),
    ]);
  });

  test('cadre service status and service logs show a detached server.', async () => {
    const status = (await here('service', 'status', '--json')).json() as ServiceStatus;
    const { url, pid } = started;
    expect(status).toMatchObject({
      data_dir: data,
      server: { started_by: 'detached', url, pid, health: 'ok', log },
      service: null,
    });
    const shown = await here('service', 'status');
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stdout).toMatch(/^server +running\nhealth +ok\n/);
    const logs = await here('service', 'logs');
    expect(logs.stdout).toMatch(/^\d\d:\d\d:[\d.]+ info +listening on http/m);
    expect(logs.stdout).toContain(`cadre ${(await here('--version')).stdout.trim()} listens on`);
    const lines = (await here('service', 'logs', '--json', '--tail', '3')).lines();
    expect(lines).toHaveLength(3);
    expect(lines.every(({ msg }) => typeof msg === 'string')).toBe(true);
  });

  test('cadre service logs -f follows the log, even after the log was emptied.', async () => {
    const follower = startCadre(place.path, ['service', 'logs', '-f', '--tail', '1'], { env });
    await follower.until('\n');
    fs.copyFileSync(log, `${log}.1`);
    fs.truncateSync(log);
    process.kill(started.pid, 'SIGHUP');
    await follower.until('configuration reloaded');
    follower.child.kill('SIGTERM');
    expect(await follower.ended).toMatchObject({ code: 143, stderr: '' });
    expect(follower.stdout()).toContain('configuration reloaded');
  });

  test('cadre service stop stops the server cleanly, and its log is still shown.', async () => {
    const stopped = await here('service', 'stop', '--json');
    expect(stopped.json()).toEqual({ stopped: true, pid: started.pid });
    expect(runs(started.pid)).toBe(false);
    expect((await here('service', 'stop')).stdout).toBe(`No server is running on ${data}\n`);
    const status = await here('service', 'status');
    expect(status).toMatchObject({ code: 6 });
    expect(status.stdout).toMatch(/^server +not running\n/);
    await expectEventually(async () => (await here('service', 'logs')).stdout).toMatch(/stopped/);
  });
});

/** Reports whether a process runs and is not a zombie. */
function runs(pid: number): boolean {
  const identity = identify(pid);
  return identity !== undefined && isAlive(identity);
}

test('cadre service status shows a server in the foreground, and service logs names its stderr.', async () => {
  const { directory } = await testRuntime();
  const { pid } = process;
  const place = ['--data-dir', directory];
  const status = await runHere(directory, [...place, 'service', 'status', '--json']);
  expect(status.json()).toMatchObject({ server: { started_by: 'foreground', log: null, pid } });
  const logs = await runHere(directory, [...place, 'service', 'logs']);
  expect(logs).toMatchObject({ code: 7, stdout: '' });
  expect(logs.stderr).toContain(
    `the server (pid ${pid}): a server in the foreground writes its log only to stderr`,
  );
});

test('cadre service install --print shows the file for both managers, and writes nothing.', async () => {
  await using place = tempDirectory('service');
  const print = ['service', 'install', '--print', '--config', 'mine.toml', '--manager'];
  fs.writeFileSync(path.join(place.path, 'mine.toml'), '[auth]\ntoken = "cadre-secret-token"\n');
  const unit = await runCadre(place.path, [...print, 'systemd']);
  expect(unit).toMatchObject({ code: 0, stderr: '' });
  const start = /^ExecStart=(.*)$/m.exec(unit.stdout)?.[1]?.split(' ') ?? [];
  expect(path.isAbsolute(start[0] ?? '')).toBe(true);
  expect(start.slice(-3)).toEqual(['serve', '--config', path.join(place.path, 'mine.toml')]);
  const agent = await runCadre(place.path, ['--json', ...print, 'launchd']);
  const { manager, file, text } = agent.json() as Record<string, string>;
  expect({ manager, file }).toEqual({
    manager: 'launchd',
    file: path.join(place.path, 'Library/LaunchAgents/cadre.server.plist'),
  });
  expect(text).toContain('<string>serve</string>');
  expect(unit.stdout + text).not.toContain('cadre-secret-token');
  expect(fs.readdirSync(place.path)).toEqual(['mine.toml']);
});

test('cadre service install refuses an invalid configuration, and an address that other machines reach.', async () => {
  await using place = tempDirectory('service');
  const print = ['service', 'install', '--print', '--manager', 'systemd'];
  const wrong = await runHere(place.path, [...print, '--bind', 'nowhere']);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  const open = await runHere(place.path, [...print, '--bind', '0.0.0.0:7433']);
  expect(open).toMatchObject({ code: 2, stdout: '' });
  const meant = await runHere(place.path, [...print, '--bind', '0.0.0.0:7433', '--allow-remote']);
  expect(meant.stdout).toMatch(/^ExecStart=.* --bind 0\.0\.0\.0:7433 --allow-remote$/m);
});

test('A machine without a service manager gets the command for a background server.', async () => {
  await using place = tempDirectory('service');
  const env = { PATH: programs(place.path) };
  const none = await runHere(place.path, ['service', 'install'], { env });
  expect(none).toMatchObject({ code: 2, stdout: '' });
  expect(none.stderr).toContain('cadre serve --detach');
  const printed = await runHere(place.path, ['service', 'install', '--print'], { env });
  expect(printed).toMatchObject({ code: 0, stderr: '' });
  expect(printed.stdout).toMatch(/^Type=notify$/m);
});

test.skipIf(process.geteuid?.() !== 0)(
  'cadre service install as root is refused with the reason.',
  async () => {
    await using place = tempDirectory('service');
    const root = await runHere(place.path, ['service', 'install', '--manager', 'systemd']);
    expect(root).toMatchObject({ code: 2, stdout: '' });
    expect(root.stderr).toMatch(/the server and all its agents would run as root.*--allow-root/);
    expect(fs.readdirSync(place.path)).toEqual([]);
  },
);
