import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { storedEvents } from '../../src/client/replay.ts';

/** Responses of a server about its data before the data were stored. */
export interface Answers {
  /** The secret of a token that may only read; it opens nothing but a server with these data. */
  token: string;
  /** A session that the demo agent can continue in any directory. */
  session: string;
  /** The id of the log. */
  epoch: string;
  /** The newest seq. */
  seq: number;
  records: Record<string, unknown>;
}

/** The stored data, by the version that wrote them; data of a commit between releases by `version+commit`. */
export const stored = fs
  .readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.tar.gz'))
  .map((name) => name.replace('.tar.gz', ''));

/** The stored data of each release, by its version. */
export const releases = stored.filter((name) => !name.includes('+'));

/** Unpacks the data of a release into a directory, and returns what its server answered. */
export function unpack(version: string, directory: string): Answers {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  execFileSync('tar', ['-xzf', archiveOf(version), '-C', directory]);
  const file = path.join(directory, 'answers.json');
  const answers = JSON.parse(fs.readFileSync(file, 'utf8')) as Answers;
  fs.rmSync(file);
  return answers;
}

/** Packs a data directory, without what belongs to the run that made it. */
export function pack(version: string, directory: string, answers: Answers): void {
  fs.writeFileSync(path.join(directory, 'answers.json'), JSON.stringify(answers));
  const left = ['auth', 'lock', 'server.json', 'config.toml', 'worktrees', 'scratch'];
  const settings = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const without = left.map((name) => `--exclude=./${name}`);
  const output = ['--use-compress-program=gzip -9n', '-cf', archiveOf(version)];
  execFileSync('tar', [...settings, ...without, ...output, '-C', directory, '.']);
}

function archiveOf(version: string): string {
  return path.join(import.meta.dirname, `${version}.tar.gz`);
}

/** All that a server answers of its data, up to a seq. */
export async function answersOf(client: Client, seq = Number.MAX_SAFE_INTEGER) {
  const [sessions, processes, worktrees, teams] = [
    await client.call(endpoints.listSessions, { query: { limit: 500 } }),
    await client.call(endpoints.listProcesses, { query: { limit: 500 } }),
    await client.call(endpoints.listWorktrees, { query: { limit: 500 } }),
    await client.call(endpoints.listTeams, { query: { limit: 500 } }),
  ];
  const records: Record<string, unknown> = { sessions, processes, worktrees, teams };
  for (const { id } of sessions) {
    const params = { session_id: id };
    const turns = await client.call(endpoints.listTurns, { params, query: { limit: 500 } });
    records[`turns of ${id}`] = turns;
    for (const { turn_id } of turns)
      records[`items of ${turn_id}`] = await client.call(endpoints.listItems, {
        params: { ...params, turn_id },
      });
  }
  records.approvals = await client.call(endpoints.listApprovals, { query: { limit: 500 } });
  for (const { process_id } of processes)
    records[`logs of ${process_id}`] = await client.call(endpoints.getProcessLogs, {
      params: { process_id },
      query: {},
    });
  for (const { id } of teams) {
    const params = { team_id: id };
    records[`messages of ${id}`] = await client.call(endpoints.listMessages, { params, query: {} });
    const deliveries = await client.call(endpoints.listDeliveries, { params, query: {} });
    records[`deliveries of ${id}`] = deliveries;
  }
  for (const { id } of sessions) {
    const params = { session_id: id };
    records[`queue of ${id}`] = await client.call(endpoints.getSessionQueue, { params });
  }
  records.rules = await client.call(endpoints.listApprovalRules, { query: { limit: 500 } });
  records.budgets = await client.call(endpoints.listBudgets, { query: {} });
  records.tokens = await client.call(endpoints.listTokens, {});
  const events = [];
  for await (const event of storedEvents(client, {}, 0, () => undefined))
    if (event.seq <= seq) events.push(event);
  records.events = events;
  return records;
}
