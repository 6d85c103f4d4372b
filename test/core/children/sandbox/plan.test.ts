import { describe, expect, test } from 'vitest';
import type { Found } from '../../../../src/core/children/sandbox/files.ts';
import type { HostView } from '../../../../src/core/children/sandbox/host-view.ts';
import { type PlanInput, planOf } from '../../../../src/core/children/sandbox/plan.ts';
import { privateDirsIn } from '../../../../src/core/children/sandbox/private-directories.ts';

const HOME = '/home/u';
const DATA = '/home/u/.local/share/cadre';
const OWN = `${DATA}/sandbox/sess_1`;

const directory = (path: string, ...links: string[]): Found => ({
  asked: links[0] ?? path,
  path,
  isDirectory: true,
  links,
});
const file = (path: string, ...links: string[]): Found => ({
  ...directory(path, ...links),
  isDirectory: false,
});

const view: HostView = {
  home: HOME,
  dataDirectory: DATA,
  worktrees: `${DATA}/worktrees`,
  top: [
    { path: '/bin', link: 'usr/bin' },
    { path: '/lib', link: null },
  ],
  system: [directory('/usr'), directory('/etc')],
  homeReadable: [file(`${HOME}/.gitconfig`), directory(`${HOME}/.config/git`)],
  tools: [directory(`${HOME}/.nvm/versions/node/v22`)],
  secrets: [
    file('/etc/shadow'),
    directory(`${HOME}/.ssh`),
    file(`${HOME}/.config/git/credentials`),
  ],
  procReadOnly: [directory('/proc/sys')],
  procHidden: [file('/proc/kcore'), directory('/proc/acpi')],
};

const input: PlanInput = {
  view,
  variant: { proc: 'new', filter: '/filter.bpf' },
  root: `${HOME}/project`,
  isReadOnly: false,
  cwd: `${HOME}/project`,
  own: privateDirsIn(OWN),
  read: [],
  write: [],
  hide: [],
  scratch: [],
  repository: null,
  standIn: null,
  network: 'none',
  nests: false,
  maxProcesses: 100,
};

/** The options of a plan, each with its arguments. */
function optionsOf(changes: Partial<PlanInput> = {}): string[] {
  const words = planOf({ ...input, ...changes }).words.join(' ');
  return words
    .slice(0, words.indexOf(' -- '))
    .split(/ (?=--)/)
    .map((one) => one.trim());
}

describe('the mounts of a plan', () => {
  test('A mount follows all mounts above it, and the directories are made read-only last.', () => {
    const options = optionsOf({ read: [directory(HOME)] });
    const targets = options
      .filter((one) => /^--(ro-bind|bind|tmpfs) /.test(one))
      .map((one) => one.split(' ').at(-1) ?? '');
    for (const [at, target] of targets.entries())
      for (const later of targets.slice(at + 1))
        expect(`${target}/`.startsWith(`${later}/`)).toBe(false);
    const firstRemount = options.indexOf(`--remount-ro ${HOME}/.ssh`);
    expect(firstRemount).toBeGreaterThan(options.indexOf(`--bind ${HOME}/project ${HOME}/project`));
    expect(options.indexOf('--remount-ro /')).toBeGreaterThan(firstRemount);
  });

  test('The home directory and /tmp inside are directories of cadre.', () => {
    const options = optionsOf();
    expect(options).toContain(`--bind ${OWN}/home ${HOME}`);
    expect(options).toContain(`--bind ${OWN}/tmp /tmp`);
    expect(options).toContain(`--bind ${OWN}/tmp /var/tmp`);
    expect(options).toContain(`--ro-bind ${HOME}/.gitconfig ${HOME}/.gitconfig`);
    expect(options).toContain(`--setenv HOME ${HOME}`);
    expect(options).toContain('--unsetenv SSH_AUTH_SOCK');
  });

  test('A server whose home directory is / has another home directory inside.', () => {
    const options = optionsOf({
      view: { ...view, home: '/' },
      root: '/srv/project',
      cwd: '/srv/project',
    });
    expect(options).toContain(`--bind ${OWN}/home /home/cadre`);
    expect(options).toContain('--setenv HOME /home/cadre');
  });

  test('Secrets are hidden where a directory above them is shown, also in the home directory.', () => {
    expect(optionsOf()).toContain('--ro-bind /dev/null /etc/shadow');
    expect(optionsOf()).toContain(`--ro-bind /dev/null ${HOME}/.config/git/credentials`);
    expect(optionsOf().join()).not.toContain('.ssh');
    const shown = optionsOf({ read: [directory(HOME)] });
    expect(shown).toContain(`--ro-bind ${HOME} ${HOME}`);
    expect(shown).toContain(`--tmpfs ${HOME}/.ssh`);
    expect(shown).toContain(`--tmpfs ${DATA}`);
  });

  test('A secret that the configuration names is shown, and sandbox.hide hides everything.', () => {
    const named = { read: [directory(HOME), directory(`${HOME}/.ssh`)] };
    expect(optionsOf(named)).toContain(`--ro-bind ${HOME}/.ssh ${HOME}/.ssh`);
    const hidden = optionsOf({ ...named, hide: [directory(`${HOME}/.ssh`)] });
    expect(hidden).toContain(`--tmpfs ${HOME}/.ssh`);
    expect(hidden).not.toContain(`--ro-bind ${HOME}/.ssh ${HOME}/.ssh`);
  });

  test('A worktree is visible in the hidden data directory.', () => {
    const root = `${DATA}/worktrees/fix`;
    const options = optionsOf({ root, cwd: root, read: [directory(HOME)] });
    const [hidden, shown, remount] = [
      `--tmpfs ${DATA}`,
      `--bind ${root} ${root}`,
      `--remount-ro ${DATA}`,
    ].map((one) => options.indexOf(one)) as [number, number, number];
    expect(hidden).toBeGreaterThan(0);
    expect(shown).toBeGreaterThan(hidden);
    expect(remount).toBeGreaterThan(shown);
  });

  test('Directories of git are read-only, and the file .git of a worktree too.', () => {
    const root = `${DATA}/worktrees/fix`;
    const repository = {
      commonDirectory: `${HOME}/project/.git`,
      gitDirectory: `${HOME}/project/.git/worktrees/fix`,
      file: `${root}/.git`,
    };
    const options = optionsOf({ root, cwd: root, repository });
    expect(options).toContain(`--ro-bind ${HOME}/project/.git ${HOME}/project/.git`);
    expect(options).toContain(`--ro-bind ${root}/.git ${root}/.git`);
  });

  test('A stand-in replaces the common directory, and parts of the common directory are mounted in it.', () => {
    const root = `${DATA}/worktrees/fix`;
    const common = `${HOME}/project/.git`;
    const own = 'worktrees/fix';
    const plan = {
      root,
      cwd: root,
      repository: {
        commonDirectory: common,
        gitDirectory: `${common}/${own}`,
        file: `${root}/.git`,
      },
      standIn: {
        directory: `${OWN}/git/1`,
        writable: ['refs', own],
        readable: [
          { path: 'refs/cadre', isDirectory: true },
          { path: `${own}/commondir`, isDirectory: false },
        ],
      },
    };
    const options = optionsOf(plan);
    const mounts = [
      `--bind ${OWN}/git/1 ${common}`,
      `--ro-bind ${common} ${common}/real`,
      `--bind ${common}/refs ${common}/refs`,
      `--ro-bind ${common}/refs/cadre ${common}/refs/cadre`,
      `--bind ${OWN}/git/1/worktrees ${common}/worktrees`,
      `--bind ${common}/${own} ${common}/${own}`,
      `--ro-bind ${common}/${own}/commondir ${common}/${own}/commondir`,
    ].map((one) => options.indexOf(one));
    expect(mounts).not.toContain(-1);
    expect(mounts).toEqual(mounts.toSorted((a, b) => a - b));
    const points = planOf({ ...input, ...plan }).mountPoints.map((one) => one.path);
    expect(points).toEqual(expect.arrayContaining([`${OWN}/git/1/real`, `${OWN}/git/1/${own}`]));
  });

  test('A link in a directory that programs inside write is not followed.', () => {
    const link = directory(`${HOME}/other`, `${HOME}/project/link`);
    const cache = directory(`${HOME}/.npm`);
    const inCache = directory(`${HOME}/secrets`, `${HOME}/.npm/link`);
    const second = directory(`${HOME}/third`, `${HOME}/link`, `${HOME}/project/link`);
    const options = optionsOf({ read: [link, inCache, second], write: [cache] }).join();
    for (const name of ['other', 'secrets', 'third'])
      expect(options).not.toContain(`${HOME}/${name}`);
    const trusted = directory(`${HOME}/other`, `${HOME}/link`);
    expect(optionsOf({ read: [trusted] })).toContain(`--ro-bind ${HOME}/other ${HOME}/other`);
  });

  test('A file of settings that is a link has its name inside.', () => {
    const settings = file(`${HOME}/dotfiles/gitconfig`, `${HOME}/.gitconfig`);
    const options = optionsOf({ view: { ...view, homeReadable: [settings] } });
    expect(options).toContain(`--ro-bind ${HOME}/dotfiles/gitconfig ${HOME}/.gitconfig`);
  });

  test('A directory between an own directory and a deeper mount is a mount, so that no program can replace it.', () => {
    const options = optionsOf();
    expect(options).toContain(`--bind ${OWN}/home/.config ${HOME}/.config`);
    expect(options).toContain(`--bind ${OWN}/home/.nvm/versions ${HOME}/.nvm/versions`);
    const { mountPoints } = planOf(input);
    expect(mountPoints).toContainEqual({ path: `${OWN}/home/.gitconfig`, isDirectory: false });
    expect(mountPoints).toContainEqual({ path: `${OWN}/home/project`, isDirectory: true });
    const paths = mountPoints.map((one) => one.path);
    expect(paths.indexOf(`${OWN}/home/.nvm`)).toBeLessThan(
      paths.indexOf(`${OWN}/home/.nvm/versions`),
    );
  });
});

describe('the options of a plan', () => {
  test('A network of none has its own namespace, and a network of all has none.', () => {
    expect(optionsOf()).toContain('--unshare-net');
    expect(optionsOf({ network: 'all' })).not.toContain('--unshare-net');
  });

  test('Parts of /proc are masked, unless programs inside may create namespaces.', () => {
    expect(optionsOf()).toEqual(
      expect.arrayContaining([
        '--ro-bind /proc/sys /proc/sys',
        '--ro-bind /dev/null /proc/kcore',
        '--tmpfs /proc/acpi',
        '--remount-ro /proc/acpi',
      ]),
    );
    expect(optionsOf({ nests: true }).join()).not.toContain('/proc/sys');
  });

  test('A partial sandbox shows /proc of the host read-only, or refuses namespaces without a filter.', () => {
    const host = optionsOf({ variant: { proc: 'host', filter: '/filter.bpf' } });
    expect(host).toContain('--ro-bind /proc /proc');
    expect(host).not.toContain('--proc /proc');
    const bare = optionsOf({ variant: { proc: 'new', filter: null } });
    expect(bare).toContain('--disable-userns');
    expect(bare.join()).not.toContain('--seccomp');
    expect(optionsOf()).toContain('--seccomp 9');
  });

  test('The shell inside limits the number of processes.', () => {
    expect(planOf(input).words.at(-2)).toContain('ulimit -u 100');
  });
});

describe('the root of a plan', () => {
  const refused: [string, RegExp][] = [
    [HOME, /contains the home directory/],
    ['/home', /contains the home directory/],
    ['/', /contains the home directory/],
    [DATA, /the data directory/],
    [`${DATA}/logs`, /the data directory/],
    [`${DATA}/worktrees`, /the data directory/],
    [`${HOME}/.ssh`, /sandbox.write/],
    [`${HOME}/.config/systemd`, /sandbox.write/],
    ['/etc/cron.d', /belongs to the system/],
    ['/run/user/1000', /belongs to the system/],
    ['/var', /belongs to the system/],
    ['/tmp', /all programs/],
    [`${HOME}/hidden/part`, /sandbox.hide/],
  ];

  test.each(refused)('The directory %s is refused with its reason.', (root, reason) => {
    const hide = [directory(`${HOME}/hidden`)];
    expect(() => planOf({ ...input, root, cwd: root, hide })).toThrow(reason);
  });

  test.each([
    `${HOME}/project/sub`,
    '/srv/project',
    '/tmp/project',
    `${DATA}/worktrees/fix`,
    '/dev/shm/project',
  ])('The directory %s is possible.', (root) => {
    expect(optionsOf({ root, cwd: root })).toContain(`--bind ${root} ${root}`);
  });

  test('A directory of settings is possible if sandbox.write lists it.', () => {
    const root = `${HOME}/.config/nvim`;
    const write = [directory(root)];
    expect(optionsOf({ root, cwd: root, write })).toContain(`--bind ${root} ${root}`);
  });

  test('A working directory has to be visible inside.', () => {
    const other = `${HOME}/other`;
    expect(() => planOf({ ...input, cwd: other })).toThrow(/not visible in the sandbox/);
    expect(() => planOf({ ...input, cwd: '/home' })).toThrow(/not visible/);
    for (const cwd of [`${HOME}/project/sub`, HOME, '/tmp', '/usr/share'])
      expect(optionsOf({ cwd })).toContain(`--chdir ${cwd}`);
    expect(optionsOf({ cwd: other, read: [directory(other)] })).toContain(`--chdir ${other}`);
  });
});
