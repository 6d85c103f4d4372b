import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** A server whose agent has the scripted model. Sessions run in `work`, and the agent keeps its files in `home`. */
export type AgentServer = TestServer & { model: ModelServer; home: string; work: string };

/** Whether the agents of this run are in a sandbox. */
export const isSandboxed = process.env.AGENTS_SANDBOX !== undefined;

/** The variables of a server whose sandboxes show the programs of these tests. */
export const showsPrograms = { CADRE_SANDBOX_READ: import.meta.dirname };

/**
 * Creates the data directory of a server, the home of its agents, and a directory for sessions. They are apart, because no
 * sandbox shows a data directory or the home directory of a server.
 */
export function makePlaces(root: string): Record<'server' | 'home' | 'work', string> {
  const places = {
    server: join(root, 'server'),
    home: join(root, 'home'),
    work: join(root, 'work'),
  };
  for (const place of Object.values(places)) mkdirSync(place);
  return places;
}

/** Runs `use` with a server whose agent is configured for a home and a model of its own, and ends all of it. */
export async function onServer(
  configure: (home: string, model: ModelServer) => string | Promise<string>,
  use: (server: AgentServer) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  await using model = await startModelServer();
  await using directory = tempDirectory('agent');
  const { server: data, home, work } = makePlaces(directory.path);
  const config = await configure(home, model);
  const server = await startServer(data, { config, env: { ...showsPrograms, ...env } });
  try {
    await use({ ...server, home, work, model });
  } finally {
    await server.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
}
