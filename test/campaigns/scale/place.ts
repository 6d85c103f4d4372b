import fs from 'node:fs';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { openSession } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { writeHistory } from '../million-log.ts';

/** How much of everything a data directory has, and how much of it is alive. */
export interface Size {
  sessions: number;
  worktrees: number;
  agents: number;
  followers: number;
}

const FULL: Size = { sessions: 10_000, worktrees: 300, agents: 200, followers: 500 };
/** With nine turns, a session has 101 events. */
const TURNS_A_SESSION = 9;
const EVENTS_A_SESSION = 100;
const AT_ONCE = 4;

export function sizeOf(share: number): Size {
  const part = (count: number) => Math.max(1, Math.round(count * share));
  return {
    sessions: part(FULL.sessions),
    worktrees: part(FULL.worktrees),
    agents: part(FULL.agents),
    followers: part(FULL.followers),
  };
}

/** A data directory of a size. */
export interface Place {
  directory: string;
  size: Size;
  /** The sessions that have a worktree each, and an agent if they are alive. */
  working: string[];
  start(): Promise<TestServer>;
}

/** Makes a data directory with its history, and creates the worktrees through a server. Uses an earlier one again. */
export async function makePlace(root: string, size: Size): Promise<Place> {
  const directory = path.join(root, 'data');
  const workingFile = path.join(root, 'working.json');
  const config = configOf(root, size);
  // The server does not record its responses, as in a run of tests.
  const start = () => startServer(directory, { config, env: { NODE_OPTIONS: '' } });
  if (fs.existsSync(workingFile)) {
    const working = JSON.parse(fs.readFileSync(workingFile, 'utf8')) as string[];
    return { directory, size, working, start };
  }
  const repo = makeRepository(path.join(root, 'repo'));
  await writeHistory(directory, size.sessions * EVENTS_A_SESSION, {
    turnsASession: TURNS_A_SESSION,
    titleOf: (n) => `piece ${n}`,
  });
  const server = await start();
  try {
    const working = await createWorktrees(server.client, repo, size.worktrees);
    fs.writeFileSync(workingFile, JSON.stringify(working));
    return { directory, size, working, start };
  } finally {
    await server.end('SIGTERM');
  }
}

async function createWorktrees(client: Client, repo: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let n = next++; n < count; n = next++) {
        const { id } = await openSession(client, repo, { title: `job ${n}`, worktree: true });
        ids.push(id);
      }
    }),
  );
  return ids;
}

function configOf(root: string, { agents }: Size): string {
  const { file, args } = selfCommand();
  return stringify({
    // The full size is near the default limit of the database.
    retention: { max_bytes: 0 },
    providers: {
      max_live: agents + 10,
      acp: {
        command: file,
        args: [...args, 'demo-agent'],
        env: { CADRE_DEMO_STATE: path.join(root, 'demo-agent') },
      },
    },
  });
}

/** Reads a list page by page. Returns the number of pages, and a function that reads the last page again. */
export async function untilLastPage(
  client: Client,
  endpoint: typeof endpoints.listSessions | typeof endpoints.listWorktrees,
  limit: number,
): Promise<{ pages: number; lastPage: () => Promise<unknown> }> {
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const query = cursor === undefined ? { limit } : { limit, cursor };
    const lastPage = () => client.ask(endpoint as typeof endpoints.listSessions, { query });
    const { headers } = await lastPage();
    cursor = headers['x-next-cursor'] as string | undefined;
    if (cursor === undefined) return { pages, lastPage };
  }
}
