import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findConfig } from '../../../src/core/config/load.ts';
import { withHome } from '../../../src/core/config/sandbox-section.ts';
import { tempDirectory } from '../../support/temp.ts';

/** Returns the section `sandbox` and the problems of a file. */
function read(toml: string) {
  using home = tempDirectory('config');
  const file = path.join(home.path, 'config.toml');
  fs.writeFileSync(file, toml);
  const { config, problems } = findConfig({ config: file }, {});
  return { sandbox: config?.sandbox, problems: problems.map((one) => one.replace(file, 'FILE')) };
}

test('The section accepts a mode, classes of children, a network and paths.', () => {
  const { sandbox, problems } = read(
    '[sandbox]\nmode = "require"\nchildren = ["agents", "tools", "user"]\nnetwork = "all"\nread = ["~"]\nwrite = ["~/.npm", "/srv/cache"]\nhide = ["~/private"]\nmax_processes = 100\n',
  );
  expect(problems).toEqual([]);
  expect(sandbox).toMatchObject({
    mode: 'require',
    children: ['agents', 'tools', 'user'],
    network: 'all',
    read: ['~'],
    write: ['~/.npm', '/srv/cache'],
    hide: ['~/private'],
    max_processes: 100,
  });
});

test('A path that starts with ~ is in the home directory.', () => {
  const { sandbox } = read('[sandbox]\nread = ["~", "/srv/~"]\nwrite = ["~/a"]\nhide = ["~/b"]\n');
  expect(sandbox && withHome(sandbox, '/home/u')).toMatchObject({
    read: ['/home/u', '/srv/~'],
    write: ['/home/u/a'],
    hide: ['/home/u/b'],
  });
});

test.for([
  ['mode = "on"', /^sandbox\.mode: .*off.*auto.*require/],
  ['children = ["tool"]', /^sandbox\.children\.?.*"tool" is not a class .*tools, init, user/],
  ['network = "some"', /^sandbox\.network: .*none.*hosts.*ask.*all/],
  ['hosts = ["https://example.com"]', /^sandbox\.hosts\.?.*has to be a host, such as example\.com/],
  ['read = ["relative"]', /^sandbox\.read\.?.*has to be an absolute path, or start with ~\//],
  ['write = ["~other/x"]', /^sandbox\.write\.?.*has to be an absolute path/],
  ['max_processes = 1', /^sandbox\.max_processes: /],
] as const)('The line %s is refused with its reason.', ([line, problem]) => {
  expect(read(`[sandbox]\n${line}\n`).problems).toEqual([expect.stringMatching(problem)]);
});

test('The section of an agent accepts a network and paths, and refuses keys of the machine.', () => {
  const section = (line: string) => read(`[providers.claude.sandbox]\n${line}\n`).problems;
  expect(section('network = "ask"\nhosts = ["localhost:8080"]\nread = ["~/docs"]')).toEqual([]);
  expect(section('nests = true')).toEqual([]);
  expect(section('max_processes = 20')).toEqual([
    expect.stringMatching(/providers\.claude\.sandbox/),
  ]);
  expect(section('write = ["relative"]')).toEqual([expect.stringMatching(/absolute path/)]);
});
