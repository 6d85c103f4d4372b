import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { BodyInputOf } from '../../../src/api/endpoint.ts';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { createWorktree, Worktree } from '../../../src/api/worktrees.ts';
import type { Client } from '../../../src/client/client.ts';
import {
  sharedRuntime,
  type TestRuntime,
  type TestRuntimeOptions,
  testRuntime,
} from '../runtime.ts';
import { scriptedProvider } from '../scripted-provider.ts';
import { testDirectory } from '../temp.ts';
import { openSession } from '../turns.ts';

/** The client of a server that creates worktrees. */
export interface Server {
  client: Client;
}

/** A server, a repository with one commit, and a session that works in it. */
export interface WorktreeHarness extends TestRuntime {
  repo: string;
  session: string;
}

export type WorktreeRequest = Partial<BodyInputOf<typeof createWorktree>>;

export const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  // Otherwise each commit starts a maintenance process that has nothing to do.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
};

/** Runs git as a user would; returns its output. */
export function git(directory: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: directory,
    env: ENVIRONMENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

/** The files of the first repository, by name. Null for a directory. */
let firstRepository: ReadonlyMap<string, Buffer | null> | undefined;

/** Makes a repository on branch main with one commit. Git makes the first one; the others are copies. */
export function makeRepository(directory: string): string {
  fs.mkdirSync(directory, { recursive: true });
  if (firstRepository) {
    for (const [name, content] of firstRepository) {
      const file = path.join(directory, name);
      if (content === null) fs.mkdirSync(file, { recursive: true });
      else fs.writeFileSync(file, content);
    }
  } else {
    git(directory, 'init', '--quiet', '--initial-branch=main');
    write(directory, { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' });
    commit(directory, 'first');
    firstRepository = contentsOf(directory);
  }
  return fs.realpathSync(directory);
}

/** Returns all files and directories below a directory; a directory comes before its files. */
function contentsOf(directory: string): Map<string, Buffer | null> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
  return new Map(
    names.map((name) => {
      const file = path.join(directory, name);
      return [name, fs.statSync(file).isDirectory() ? null : fs.readFileSync(file)];
    }),
  );
}

export function write(directory: string, files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

/** Commits all files; returns the commit. */
export function commit(directory: string, message: string): string {
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '--allow-empty', '--message', message);
  return headOf(directory);
}

/** Returns the commit at which a directory is. Runs git only if no file contains the commit, because that is slow. */
export function headOf(directory: string): string {
  const own = path.join(directory, '.git');
  if (!fs.existsSync(own)) return git(directory, 'rev-parse', 'HEAD');
  const isLinked = fs.statSync(own).isFile();
  const gitDir = isLinked
    ? path.resolve(directory, fs.readFileSync(own, 'utf8').slice('gitdir: '.length).trimEnd())
    : own;
  const common = path.join(gitDir, 'commondir');
  const commonDir = fs.existsSync(common)
    ? path.resolve(gitDir, fs.readFileSync(common, 'utf8').trimEnd())
    : gitDir;
  const head = fs.readFileSync(path.join(gitDir, 'HEAD'), 'utf8').trimEnd();
  const branch = /^ref: (refs\/heads\/.+)$/.exec(head)?.[1];
  const file = path.join(commonDir, branch ?? '');
  const id =
    branch !== undefined && fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd() : head;
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(id) ? id : git(directory, 'rev-parse', 'HEAD');
}

export function read(directory: string, name: string): string {
  return fs.readFileSync(path.join(directory, name), 'latin1');
}

/** Opens a harness, which is closed when the test has finished. */
export async function testWorktreeHarness(
  options: TestRuntimeOptions = {},
): Promise<WorktreeHarness> {
  const given = await testRuntime({ providers: [scriptedProvider()], ...options });
  const repo = makeRepository(path.join(given.directory, 'repo'));
  const { id } = await openSession(given.client, repo);
  return { ...given, repo, session: id };
}

/**
 * Harnesses on one runtime, each with its own directory, repository and session. Tests on them may look at neither the log
 * nor other records of the runtime.
 */
export function sharedWorktreeHarnesses() {
  const given = sharedRuntime({ providers: [scriptedProvider()] });
  return async (): Promise<WorktreeHarness & { harness: WorktreeHarness }> => {
    const directory = testDirectory('harness');
    const repo = makeRepository(path.join(directory, 'repo'));
    const { id } = await openSession(given().client, repo);
    const harness = { ...given(), directory, repo, session: id };
    return { ...harness, harness };
  };
}

/** Opens a harness with a worktree of its session. */
export async function withTree(opening: Promise<WorktreeHarness>, request?: WorktreeRequest) {
  const harness = await opening;
  return { harness, tree: await create(harness, request) };
}

/** Creates a worktree for the session of the harness. */
export function create(
  { client, session }: Server & { session: string },
  request: WorktreeRequest = {},
) {
  return client.call(endpoints.createWorktree, {
    body: { source_session_id: session, worktree_name: 'tree', ...request },
  });
}

export function get({ client }: Server, { id }: { id: string }) {
  return client.call(endpoints.getWorktree, { params: { worktree_id: id } });
}

export function claim(
  { client }: Server,
  { id }: { id: string },
  session_id: string,
  claim_role?: 'owner' | 'consumer',
) {
  const params = { worktree_id: id };
  return client.call(endpoints.claimWorktree, { params, body: { session_id, claim_role } });
}

export function release(
  { client }: Server,
  { id }: { id: string },
  session_id: string,
  cleanup_if_last_claim?: boolean,
) {
  const params = { worktree_id: id };
  const body = { session_id, cleanup_if_last_claim };
  return client.call(endpoints.releaseWorktree, { params, body });
}

export function cleanUp({ client }: Server, { id }: { id: string }, reason?: string) {
  return client.call(endpoints.cleanUpWorktree, {
    params: { worktree_id: id },
    body: { reason },
  });
}

export function restore({ client }: Server, { id }: { id: string }, name?: string) {
  return client.call(endpoints.restoreWorktree, { params: { worktree_id: id }, body: { name } });
}

/** Trusts all content of a repository. */
export async function trustAll({ client }: Server, repo_root: string): Promise<void> {
  const { brings } = await client.call(endpoints.lookAtBrought, { body: { repo_root } });
  for (const { sha256 } of brings)
    await client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
}

export function close({ client }: Server, session_id: string) {
  return client.call(endpoints.closeSession, { params: { session_id }, body: {} });
}

/** Releases the only claim, so that the worktree is cleaned up. */
export async function letGo(harness: WorktreeHarness, worktree: Worktree) {
  const { cleanup } = await release(harness, worktree, harness.session);
  if (!cleanup) throw new Error('it was not to be cleaned up');
  return cleanup;
}

/** Returns the events of worktrees and sessions, oldest first. */
export async function events({ client }: Server): Promise<RuntimeEventRecord[]> {
  const query = { kind: ['worktree.*', 'session.*'], limit: 10_000 };
  return client.call(endpoints.replayEvents, { query });
}

export async function kindsOf(server: Server, group = 'worktree'): Promise<string[]> {
  const all = await events(server);
  return all.map(({ kind }) => kind).filter((kind) => kind.startsWith(`${group}.`));
}

export function branches(repo: string): string[] {
  return git(repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n');
}

/** Returns the worktrees of a repository that git lists, without the main one. */
export function known(repo: string): string[] {
  return git(repo, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter((line) => line.startsWith('worktree '))
    .map((line) => line.slice(9))
    .slice(1);
}
