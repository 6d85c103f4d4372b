import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../src/api/index.ts';
import { printed, ranTo, run, stdout, ended, logs } from '../../support/processes/work.ts';
import { python } from '../../support/python.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

/** The configured mode of the sandbox. */
type Mode = 'off' | 'require';

export type User = { uid: number; gid: number } | undefined;

/** A home directory with secrets, a repository with a worktree, and a server that works there. */
export interface SandboxFixture {
  server: TestServer;
  mode: Mode;
  home: string;
  data: string;
  /** The directory of the session: a worktree of `repository`. */
  root: string;
  repository: string;
  session: { session_id: string };
}

/** The data directory, below the home directory. */
const DATA = '.local/share/cadre';
/** Files that a commit in the worktree changes. */
const OF_COMMITS =
  /^project\/\.git\/(objects\/..\/|(logs\/)?refs\/heads\/mine$|worktrees\/mine\/(?!commondir$|gitdir$|config\.worktree$))/;
/** A file of another session, below the data directory. */
const OTHER_TMP = 'sandbox/other/tmp/secret';

interface FixtureOptions {
  user: User;
  mode: Mode;
  network?: 'none' | 'hosts';
  nests?: boolean;
  /** The configuration as TOML, instead of the demo agent. */
  config?: string;
}

/** Runs a test with a new fixture. The children of the server run in a sandbox, or without one. */
export async function withSandboxFixture<T>(
  { user, mode, network = 'none', nests = false, config }: FixtureOptions,
  test: (fixture: SandboxFixture) => Promise<T>,
): Promise<T> {
  await using directory = tempDirectory('world');
  // Another user has to reach it, and the root of all temporary directories is closed.
  for (const one of [path.dirname(directory.path), directory.path]) fs.chmodSync(one, 0o755);
  const home = path.join(directory.path, 'home');
  const repository = path.join(home, 'project');
  const root = path.join(home, 'trees/mine');
  const data = path.join(home, DATA);
  makeHome(home, repository, root);
  if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, directory.path]);
  const server = await startServer(data, {
    user,
    ...(config === undefined ? {} : { config }),
    env: {
      HOME: home,
      CADRE_SANDBOX_MODE: mode,
      CADRE_SANDBOX_NETWORK: network,
      CADRE_SANDBOX_NESTS: String(nests),
      PATH: '/usr/bin:/bin',
      SSH_AUTH_SOCK: '/nowhere',
    },
  });
  try {
    const body = { provider: 'acp', cwd: root } as const;
    const session = await server.client.call(endpoints.createSession, { body });
    return await test({
      server,
      mode,
      home,
      data,
      root,
      repository,
      session: { session_id: session.id },
    });
  } finally {
    await server.end('SIGKILL');
  }
}

function makeHome(home: string, repository: string, root: string): void {
  const files: Record<string, string> = {
    '.ssh/id_ed25519': 'private key',
    '.aws/credentials': 'secret',
    '.bashrc': '# settings\n',
    '.gitconfig': '[user]\nname = a\nemail = b\n',
    'other/.env': 'SECRET=1',
    'project/a': 'a\n',
    [path.join(DATA, OTHER_TMP)]: 'secret',
  };
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
    fs.writeFileSync(path.join(home, name), content);
  }
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: repository, env: { PATH: process.env.PATH, HOME: home } });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'one');
  git('worktree', 'add', '-q', root);
}

/** The results of the attempts: what they got by name, and the files outside that have changed. */
export interface Escapes {
  got: Record<string, string | null>;
  planted: string[];
}

/** The attempts that a sandbox does not stop; docs/sandbox.md names them. */
export const OPEN = ['a socket of the host in the root'];

export function succeeded({ got }: Escapes): string[] {
  return Object.keys(got).filter((name) => !name.startsWith('work: ') && got[name] !== null);
}

export function failedWork({ got }: Escapes): string[] {
  return Object.keys(got).filter((name) => name.startsWith('work: ') && got[name] === null);
}

/** Commands that have to succeed inside. */
const work = {
  'work: a file in the root': 'echo x > new',
  'work: files in the home directory and /tmp':
    'echo x > ~/kept && echo x > /tmp/kept && echo x > /dev/shm/kept',
  'work: state and history of git': 'git status --short && git log --oneline -1',
  'work: a commit in a worktree': 'git commit -q --allow-empty -m inside && git log -1 --format=%s',
  'work: a server on the loopback interface': `python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'`,
  'work: a debugger of its own children': `python3 -c 'import ctypes, os; p = os.fork(); p or os.execvp("sleep", ["sleep", "1"]); r = ctypes.CDLL(None).ptrace(0x4206, p, 0, 0); os.kill(p, 9); os._exit(r != 0)'`,
};

/** Runs all attempts as a process of the session. */
export async function tryEscapes(fixture: SandboxFixture): Promise<Escapes> {
  const { server, mode, home, data, root, repository, session } = fixture;
  const name = path.basename(path.dirname(home));
  const sharedFile = `/dev/shm/${name}`;
  const sockets = {
    dataSocket: path.join(data, 'keeper.sock'),
    tmpSocket: `/tmp/${name}.sock`,
    rootSocket: path.join(root, 'dev.sock'),
  };
  const otherTmp = path.join(data, OTHER_TMP);
  fs.writeFileSync(sharedFile, 'secret', { mode: 0o644 });
  const script = (file: string) => fs.readFileSync(path.join(import.meta.dirname, file), 'utf8');
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const words = [`@${name}`, ...Object.values(sockets)].map(quoted).join(' ');
  const outside = await run(server, `python3 -c ${quoted(script('outside.py'))} ${words}`, {
    stdin: 'pipe',
  });
  try {
    await printed(server, outside, 'shared');
    const shared = Number((await stdout(server, outside)).split(' ')[1]);
    const common = path.join(repository, '.git');
    const own = path.join(common, 'worktrees/mine');
    const facts = {
      home,
      data,
      otherTmp,
      sharedFile,
      shared,
      abstract: name,
      ...sockets,
      server: server.pid,
      port: Number(new URL(server.url).port),
      // Without a sandbox, the attempts destroy the repository.
      work: mode === 'off' ? {} : work,
      pin: path.join(root, '.git'),
      plants: [
        ...[
          '.bashrc',
          '.gitconfig',
          '.config/git/config',
          '.ssh/authorized_keys',
          '.local/bin/git',
        ].map(inHome),
        ...[
          '.config/systemd/user/x.service',
          '.claude/settings.json',
          'other/Makefile',
          'project/a',
        ].map(inHome),
        ...[
          'config',
          'hooks/post-commit',
          'index',
          'HEAD',
          'info/attributes',
          'logs/HEAD',
          'objects/info/alternates',
          'packed-refs',
          'refs/cadre/planted',
        ].map(inCommon),
        ...['commondir', 'gitdir', 'config.worktree'].map((one) => path.join(own, one)),
        path.join(root, '.git'),
      ],
      renames: [
        [path.join(root, '.git'), path.join(root, '.git2')],
        [inCommon('hooks'), inCommon('hooks2')],
      ],
    };
    function inHome(one: string) {
      return path.join(home, one);
    }
    function inCommon(one: string) {
      return path.join(common, one);
    }
    const before = filesOf(home, root);
    const text = `python3 -c ${quoted(script('hostile.py'))} ${quoted(JSON.stringify(facts))}`;
    const over = await ranTo(server, text, session);
    const printedText = await stdout(server, over);
    const { stderr } = await logs(server, over);
    if (stderr?.content) console.log(stderr.content);
    const after = filesOf(home, root);
    const planted = [...new Set([...before.keys(), ...after.keys()])].filter(
      // In the sandbox, cadre creates an empty `config.worktree`.
      (file) => (before.get(file) ?? '') !== (after.get(file) ?? '') && !OF_COMMITS.test(file),
    );
    return { got: JSON.parse(printedText) as Escapes['got'], planted };
  } finally {
    fs.rmSync(sharedFile, { force: true });
    fs.rmSync(sockets.tmpSocket, { force: true });
    await server.client.call(endpoints.writeToProcess, {
      params: { process_id: outside.process_id },
      body: { eof: true },
    });
    await ended(server, outside);
  }
}

/** Reads the files in which something could be planted: the home directory without the data directory, and the root's .git. */
function filesOf(home: string, root: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const isOwn = file.startsWith(`${root}/`) && !file.startsWith(path.join(root, '.git'));
    if (isOwn || file.includes('/.local/share/cadre/') || !entry.isFile()) continue;
    found.set(path.relative(home, file), fs.readFileSync(file, 'latin1'));
  }
  return found;
}

export const hasPython = fs.existsSync('/usr/bin/python3') && python !== '';
