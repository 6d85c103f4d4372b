import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findRegistration } from '../../../src/core/config/registration.ts';
import { expectFailure, runCadre, runHere, shell, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { putProgram } from '../../support/providers/demo-agents.ts';

test('A command finds no service and no configuration below a HOME that is a file.', async () => {
  using place = tempDirectory();
  const env = { HOME: '/dev/null', CADRE_DATA_ROOT_DIR: path.join(place.path, 'data') };
  expectFailure(await runHere(place.path, ['run', 'say hi'], { env }), 6, /no server is running/);
});

test('A command passes the home directory of the account to its programs if HOME is a relative path.', async () => {
  using place = tempDirectory();
  const ended = await runCadre(place.path, ['config', 'show', '--json'], { env: { HOME: 'here' } });
  expect(ended.code).toBe(0);
  expect(ended.stdout).not.toContain(place.path);
});

test('Commands in a removed directory report the directory, and those that need none work.', async () => {
  await using place = tempDirectory('server');
  const gone = 'mkdir gone && cd gone && rmdir ../gone';
  const detached = await shell(place.path, `${gone} && cadre serve --demo --detach --port 0`);
  expectFailure(detached, 2, /the current directory no longer exists: change to another/);
  const relative = await shell(place.path, `${gone} && cadre --data-dir data status`);
  expectFailure(relative, 1, /^cadre: ENOENT: process\.cwd failed/);
  const bin = path.join(place.path, 'bin');
  fs.mkdirSync(bin);
  putProgram(bin, 'systemctl', 'exit 1');
  const searchPath = `PATH=${bin}:$PATH`;
  const stopped = await shell(
    place.path,
    `cadre serve --demo --detach --port 0 >/dev/null && ${gone} && ${searchPath} cadre stop`,
  );
  expect([stopped.stderr, stopped.code]).toEqual(['', 0]);
  await untilNothingCarries(place.path);
});

test('The server keeps running if the readers of its output have left before it is ready.', async () => {
  await using place = tempDirectory('server');
  const data = path.join(place.path, '.local/share/cadre');
  const { child, ended } = startCadre(place.path, ['serve', '--demo', '--port', '0']);
  child.stdout?.destroy();
  child.stderr?.destroy();
  await expectEventually(() => findRegistration(data)?.runs).toBe(true);
  expect((await runCadre(place.path, ['run', 'say hi'])).stdout).toBe('hi\n');
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  expect(findRegistration(data)).toBeNull();
});
