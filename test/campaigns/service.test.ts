import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Session, Turn } from '../../src/api/sessions.ts';
import type { Installed } from '../../src/frontends/cli/service/install.ts';
import type { ServiceStatus } from '../../src/frontends/cli/service/status.ts';
import { identify, isAlive } from '../../src/core/children/identity.ts';
import { type Ended, runCadre, runHere } from '../support/cli/cadre.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { untilNothingCarries } from '../support/server.ts';
import { canManage, withUserManager } from './user-manager.ts';
import { tempDirectory } from '../support/temp.ts';

const install = ['service', 'install', '--allow-root', '--demo', '--port', '0'];

describe.skipIf(!canManage)('the service under a user manager of systemd', () => {
  test('The service is installed once, leaves no process after a crash, stops cleanly, and is removed.', async () => {
    await using home = tempDirectory('systemd');
    // Only the keeper is to end what is left after a crash, and not the next server.
    const dropIn = path.join(home.path, '.config/systemd/user/cadre.service.d/once.conf');
    fs.mkdirSync(path.dirname(dropIn), { recursive: true });
    fs.writeFileSync(dropIn, '[Service]\nRestart=no\n');
    await withUserManager(home.path, async (env) => {
      const cadre = (...args: string[]): Promise<Ended> => runHere(home.path, args, { env });
      const status = async () =>
        (await cadre('--json', 'service', 'status')).json() as ServiceStatus;

      const { code, stdout, stderr } = await runCadre(home.path, ['--json', ...install], { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const installed = JSON.parse(stdout) as Installed;
      expect(installed).toMatchObject({ change: 'written', url: expect.stringContaining('http') });
      const { file } = installed;
      expect(file).toBe(path.join(home.path, '.config/systemd/user/cadre.service'));

      const first = await status();
      expect(first).toMatchObject({
        server: { started_by: 'systemd', url: installed.url, health: 'ok', log: null },
        service: { state: 'running', enabled: true, edited: false },
      });
      expect(first.service?.detail).toBe(`${installed.url}: 0 turns, 0 processes`);

      const again = await runCadre(home.path, ['--json', ...install], { env });
      expect(again.json()).toMatchObject({ change: 'unchanged', url: installed.url });
      expect((await status()).server?.pid).toBe(first.server?.pid);

      await crash(home.path, cadre, first.server?.pid ?? 0, env);
      const failed = { state: 'failed', pid: null, enabled: true };
      await expectEventually(async () => (await status()).service).toMatchObject(failed);
      expect(spawnSync('systemctl', ['--user', 'start', 'cadre'], { env }).status).toBe(0);
      expect((await status()).server).toMatchObject({ started_by: 'systemd', health: 'ok' });

      expect((await cadre('service', 'stop')).code).toBe(0);
      const stopped = { state: 'stopped', pid: null, detail: null };
      expect(await status()).toMatchObject({ server: null, service: stopped });

      fs.appendFileSync(file, '# mine\n');
      for (const change of ['install', 'uninstall']) {
        const args = change === 'install' ? install : ['service', 'uninstall'];
        const refused = await runCadre(home.path, args, { env });
        expect(refused).toMatchObject({ code: 7, stdout: '' });
        expect(refused.stderr).toContain(`${file} was edited: pass --force`);
      }
      expect((await cadre('service', 'uninstall', '--force')).code).toBe(0);
      expect(fs.existsSync(file)).toBe(false);
      expect(await status()).toMatchObject({ server: null, service: null });
      const none = await cadre('service', 'uninstall');
      expect(none.stdout).toBe(`No service is installed (${file} not found)\n`);
    });
    await untilNothingCarries(home.path);
  });
});

describe.skipIf(!canManage)('a service whose agents outlive it', () => {
  test('A running turn continues when the service is restarted or killed.', async () => {
    await using home = tempDirectory('systemd');
    const config = path.join(home.path, '.config/cadre/config.toml');
    fs.mkdirSync(path.dirname(config), { recursive: true });
    fs.writeFileSync(config, '[server]\nreattach_ms = 60_000\n');
    await withUserManager(home.path, async (env) => {
      const cadre = (...args: string[]): Promise<Ended> => runHere(home.path, args, { env });
      const pid = async () =>
        ((await cadre('--json', 'service', 'status')).json() as ServiceStatus).server?.pid ?? 0;
      expect(await cadre(...install)).toMatchObject({ code: 0 });
      const first = await pid();
      const { id } = (await cadre('--json', 'sessions', 'create')).json() as Session;
      expect(await cadre('sessions', 'send', '--no-wait', id, 'repeat 400 20 word')).toMatchObject({
        code: 0,
      });
      const turn = async () =>
        ((await cadre('--json', 'sessions', 'turns', id)).json() as Turn[])[0];
      await expectEventually(async () => (await turn())?.status).toBe('running');

      const restarted = await cadre('service', 'restart');
      expect(restarted).toMatchObject({ code: 0, stderr: '' });
      expect(restarted.stdout).toContain('ran systemctl --user restart cadre.service\n');
      const second = await pid();
      expect(second).not.toBe(first);
      expect(await turn()).toMatchObject({ status: 'running' });

      process.kill(second, 'SIGKILL');
      await expectEventually(async () => [0, second].includes(await pid())).toBe(false);
      await expectEventually(async () => (await turn())?.status).toBe('completed');
      expect(await cadre('service', 'stop')).toMatchObject({ code: 0 });
    });
    await untilNothingCarries(home.path);
  });
});

/** Kills the server while a command of it runs in another control group, and waits until that has ended. */
async function crash(
  home: string,
  cadre: (...args: string[]) => Promise<Ended>,
  pid: number,
  env: Record<string, string>,
): Promise<void> {
  const file = path.join(home, 'escaped');
  const scope = `XDG_RUNTIME_DIR=${env.XDG_RUNTIME_DIR} setsid systemd-run --user --scope --quiet`;
  await cadre('processes', 'run', `${scope} sh -c 'echo $$ > ${file}; exec sleep 600'`);
  const written = () => fs.existsSync(file) && fs.readFileSync(file, 'utf8').endsWith('\n');
  await expectEventually(written).toBe(true);
  const escaped = identify(Number(fs.readFileSync(file, 'utf8')));
  expect(fs.readFileSync(`/proc/${escaped?.pid}/cgroup`, 'utf8')).toMatch(/\.scope$/m);
  process.kill(pid, 'SIGKILL');
  await expectEventually(() => escaped !== undefined && isAlive(escaped)).toBe(false);
}
