import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** A server whose agent has the scripted model. */
export type AgentServer = TestServer & { model: ModelServer };

/** Runs `use` with a server whose agent is configured for a home and a model of its own, and ends all of it. */
export async function onServer(
  configure: (home: string, model: ModelServer) => string | Promise<string>,
  use: (server: AgentServer) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  await using model = await startModelServer();
  await using directory = tempDirectory('agent');
  const config = await configure(directory.path, model);
  const server = await startServer(directory.path, { config, env });
  try {
    await use({ ...server, model });
  } finally {
    await server.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
}
