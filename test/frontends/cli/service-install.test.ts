import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { newUuid } from '../../../src/core/lib/ids.ts';
import { install } from '../../../src/frontends/cli/service/install.ts';
import type { Manager } from '../../../src/frontends/cli/service/manager.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { tempDirectory } from '../../support/temp.ts';

test('An installation of the service removes drafts of killed installations, and nothing else.', async () => {
  await using place = tempDirectory('service');
  const file = path.join(place.path, 'units', 'cadre.service');
  fs.mkdirSync(path.dirname(file));
  const beside = (name: string) => path.join(path.dirname(file), name);
  const draft = beside(`.cadre.service.${newUuid()}.part`);
  const others = [beside('.cadre.service.notes.part'), beside(`.other.service.${newUuid()}.part`)];
  for (const one of [draft, ...others]) {
    fs.writeFileSync(one, 'half');
    fs.utimesSync(one, 1, 1);
  }
  const over = new Error('the file is written by now');
  const manager = {
    name: 'systemd',
    file,
    text: () => 'the service',
    assertReachable: () => Promise.resolve(),
    state: () => Promise.reject(over),
  } as unknown as Manager;
  const env = { HOME: place.path, PATH: process.env.PATH ?? '' };
  const io = { env, cwd: () => place.path } as unknown as CommandIo;
  await expect(install(io, { allowRoot: true }, manager)).rejects.toThrow(over);
  expect(fs.readFileSync(file, 'utf8')).toBe('the service');
  expect(fs.existsSync(draft)).toBe(false);
  for (const one of others) expect(fs.existsSync(one)).toBe(true);
});
