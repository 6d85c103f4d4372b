import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { AppError } from '../../../src/api/errors.ts';
import { openSession } from '../../support/turns.ts';
import {
  claim,
  cleanUp,
  create,
  ENVIRONMENT,
  get,
  headOf,
  release,
  restore,
  type Server,
} from '../../support/worktrees/work.ts';

const SESSIONS = 8;
const NAMES = ['n0', 'n1', 'n2'];
const run = promisify(execFile);

/** A repository, and all commits and files that were written in its worktrees. */
interface Ground {
  repo: string;
  commits: Set<string>;
  blobs: Set<string>;
  trees: Set<string>;
}

/** A session and its current worktree. */
interface Actor {
  number: number;
  session: string;
  ground: Ground;
  tree: Worktree | null;
  written: Map<string, string>;
}

/** Returns a random number below a limit. One seed determines the whole program. */
export type Draw = (below: number) => number;

/** Returns a generator of numbers that depend only on the seed (mulberry32). */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Runs git as a user would, concurrently with other commands; resolves with its output. */
async function gitIn(directory: string, ...args: string[]): Promise<string> {
  const options = { cwd: directory, env: ENVIRONMENT, maxBuffer: 64 * 1024 * 1024 };
  return (await run('git', args, options)).stdout.trimEnd();
}

/** Resolves with null if git or the server refuses the request; rethrows internal errors. */
async function orRefused<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'internal') throw error;
    return null;
  });
}

/**
 * Eight sessions work concurrently in worktrees of two repositories, with the same names and branches, and release all
 * worktrees at the same moment. Afterwards git deletes all unreachable objects. Each commit and each file that was left
 * must still be reachable.
 */
export async function runProgram(server: Server, repos: readonly string[], draw: Draw) {
  const grounds = repos.map((repo) => ({
    repo,
    commits: new Set<string>(),
    blobs: new Set<string>(),
    trees: new Set<string>(),
  }));
  const actors = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, number): Promise<Actor> => {
      const ground = grounds[number % grounds.length] as Ground;
      const { id } = await openSession(server.client, ground.repo);
      return { number, session: id, ground, tree: null, written: new Map() };
    }),
  );
  // Each actor has its own generator, so that its actions depend on the seed and not on the timing.
  const programs = actors.map((actor) => ({ actor, draw: drawFrom(draw(2 ** 31)) }));
  await Promise.all(
    programs.map(async ({ actor, draw: own }) => {
      const steps = 2 + own(4);
      for (let step = 0; step < steps; step += 1) await take(server, actor, own, step);
    }),
  );
  await Promise.all(actors.map((actor) => letGo(server, actor)));
  for (const ground of grounds) await expectNothingLost(server, ground);
}

async function take(server: Server, actor: Actor, draw: Draw, step: number): Promise<void> {
  const { tree, ground } = actor;
  if (tree === null) {
    await begin(server, actor, draw);
    return;
  }
  const at = (...args: string[]) => orRefused(gitIn(tree.path, ...args));
  switch (draw(12)) {
    case 0:
    case 1:
    case 2:
      write(actor, step);
      await at('add', '--all');
      await at('commit', '--quiet', '--message', `${actor.number}.${step}`);
      return note(actor);
    case 3:
      write(actor, step);
      return;
    case 4:
      await at('commit', '--quiet', '--all', '--amend', '--message', `again ${step}`);
      return note(actor);
    case 5:
      await at('reset', '--quiet', '--mixed', 'HEAD~1');
      return;
    case 6:
      await at('checkout', '--quiet', '--detach');
      return;
    case 7:
      await orRefused(gitIn(ground.repo, 'merge', '--quiet', '--ff-only', tree.branch));
      return;
    case 8:
      await orRefused(cleanUp(server, tree));
      return;
    default:
      return letGo(server, actor);
  }
}

/** Creates a worktree, often from the branch of another one, or restores and claims an existing one. */
async function begin(server: Server, actor: Actor, draw: Draw): Promise<void> {
  const { ground, session } = actor;
  const worktree_name = NAMES[draw(NAMES.length)] as string;
  const base = draw(2) === 0 ? undefined : `cadre/${NAMES[draw(NAMES.length)]}`;
  const known = [...ground.trees];
  if (known.length > 0 && draw(4) === 0) {
    const id = known[draw(known.length)] as string;
    const back = await orRefused(restore(server, { id }, `${worktree_name}-${actor.number}`));
    if (back && (await orRefused(claim(server, back, session)))) actor.tree = back;
    return;
  }
  const made = await orRefused(
    create({ ...server, session }, { worktree_name, base_ref: base ?? null }),
  );
  if (made === null) return;
  ground.trees.add(made.id);
  actor.tree = made;
}

function write({ tree, number, written }: Actor, step: number): void {
  const name = `of-${number}`;
  const text = `${number} ${step} ${tree?.id}\n`;
  fs.writeFileSync(path.join(tree?.path ?? '', name), text);
  written.set(name, text);
}

async function note({ tree, ground }: Actor): Promise<void> {
  const head = await orRefused(Promise.resolve(tree?.path ?? '').then(headOf));
  if (head !== null) ground.commits.add(head);
}

/** Releases the worktree of a session. From now on its files must be kept. */
async function letGo(server: Server, actor: Actor): Promise<void> {
  const { tree, ground, session, written } = actor;
  if (tree === null) return;
  await note(actor);
  for (const text of written.values()) ground.blobs.add(blobOf(text));
  written.clear();
  actor.tree = null;
  await orRefused(release(server, tree, session));
}

async function expectNothingLost(server: Server, ground: Ground): Promise<void> {
  const { repo } = ground;
  const all = await server.client.call(endpoints.listWorktrees, {
    query: { repo_root: repo, limit: 500 },
  });
  for (const tree of all) await orRefused(cleanUp(server, tree));
  for (const { id } of all) expect((await get(server, { id })).status).toBe('cleaned');
  await gitIn(repo, 'reflog', 'expire', '--expire=now', '--all');
  await gitIn(repo, 'prune', '--expire=now');
  expect(await gitIn(repo, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  expect(await gitIn(repo, 'worktree', 'list', '--porcelain')).not.toContain('\n\n');
  const left = new Set(
    (await gitIn(repo, 'rev-list', '--objects', '--all', '--no-object-names')).split('\n'),
  );
  const lost = (wanted: Set<string>) => [...wanted].filter((sha) => !left.has(sha));
  expect({ commits: lost(ground.commits), blobs: lost(ground.blobs) }).toEqual({
    commits: [],
    blobs: [],
  });
}

function blobOf(text: string): string {
  return createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex');
}
