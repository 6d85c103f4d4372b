import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesOutside } from '../../../../src/core/children/sandbox/files.ts';
import type { HostView } from '../../../../src/core/children/sandbox/host-view.ts';
import { privateDirsIn } from '../../../../src/core/children/sandbox/private-directories.ts';
import { planOf } from '../../../../src/core/children/sandbox/plan.ts';
import { testDirectory } from '../../../support/temp.ts';

/** A home directory with a project, a reference with a hidden part, and the mounts of a sandbox of the project. */
function makeWorld() {
  const home = fs.realpathSync(testDirectory('home'));
  const at = (name: string) => path.join(home, name);
  const files = [
    'project/a',
    'reference/b',
    'reference/private/c',
    '.ssh/key',
    'data/sandbox/s/tmp/d',
  ];
  for (const name of files) {
    fs.mkdirSync(path.dirname(at(name)), { recursive: true });
    fs.writeFileSync(at(name), '');
  }
  const directory = (name: string) => ({
    asked: at(name),
    path: at(name),
    isDirectory: true,
    links: [],
  });
  const view: HostView = {
    home,
    dataDirectory: at('data'),
    worktrees: at('data/worktrees'),
    top: [],
    system: [{ asked: '/usr', path: '/usr', isDirectory: true, links: [] }],
    homeReadable: [],
    tools: [],
    secrets: [directory('.ssh')],
    procReadOnly: [],
    procHidden: [],
  };
  const { mounts } = planOf({
    view,
    variant: { proc: 'new', filter: null },
    root: at('project'),
    isReadOnly: false,
    cwd: at('project'),
    own: privateDirsIn(at('data/sandbox/s')),
    read: [directory('reference')],
    write: [],
    hide: [directory('reference/private')],
    scratch: [],
    repository: null,
    standIn: null,
    network: 'none',
    nests: false,
    maxProcesses: 100,
  });
  return { at, find: filesOutside(mounts) };
}

describe('the file that a path names in a sandbox', () => {
  test('A visible file is itself, and a file in /tmp or the home directory is a file of the session.', async () => {
    const { at, find } = makeWorld();
    expect(await find(at('project/a'))).toBe(at('project/a'));
    expect(await find(at('project/missing'))).toBe(at('project/missing'));
    expect(await find(at('reference/b'))).toBe(at('reference/b'));
    expect(await find('/tmp/d')).toBe(at('data/sandbox/s/tmp/d'));
    expect(await find(at('.bashrc'))).toBe(at('data/sandbox/s/home/.bashrc'));
  });

  test('A file that the sandbox hides or does not show is not found, also by way of other directories.', async () => {
    const { at, find } = makeWorld();
    expect(await find(at('reference/private/c'))).toBeNull();
    expect(await find(at('project/../reference/private/c'))).toBeNull();
    for (const one of ['/root', '/var/lib/x', '/run/docker.sock', '/proc/self/environ', '/'])
      expect(await find(one)).toBeNull();
    // The home directory inside is another one, in which this file does not exist.
    expect(await find(at('.ssh/key'))).toBe(at('data/sandbox/s/home/.ssh/key'));
  });

  test('A link leads where it leads inside, and never to a file that the sandbox does not show.', async () => {
    const { at, find } = makeWorld();
    const links = {
      ok: '../reference/b',
      secret: at('reference/private/c'),
      directory: at('reference/private'),
      tmp: '/tmp',
      loop: 'loop',
      key: at('.ssh/key'),
    };
    for (const [name, target] of Object.entries(links))
      fs.symlinkSync(target, at(`project/${name}`));
    expect(await find(at('project/ok'))).toBe(at('reference/b'));
    expect(await find(at('project/secret'))).toBeNull();
    expect(await find(at('project/directory/c'))).toBeNull();
    expect(await find(at('project/tmp/d'))).toBe(at('data/sandbox/s/tmp/d'));
    expect(await find(at('project/loop'))).toBeNull();
    expect(await find(at('project/key'))).toBe(at('data/sandbox/s/home/.ssh/key'));
  });
});
