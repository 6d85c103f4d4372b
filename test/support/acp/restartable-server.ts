import { stringify } from 'smol-toml';
import { withInProcessDemoAgent } from '../demo-agent/in-process.ts';
import { startServer, untilNothingCarries } from '../server.ts';
import { tempDirectory } from '../temp.ts';
import type { Place } from './editor.ts';

/** Runs a test with a server that it may kill and start again, at another address each time. */
export async function withRestartableServer(
  use: (given: { place: Place; directory: string; restart: () => Promise<void> }) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('mortal');
  await withInProcessDemoAgent(directory.path, async (acp) => {
    const config = stringify({ providers: { acp } });
    let server = await startServer(directory.path, { config });
    const place = { url: server.url, token: server.token };
    const restart = async () => {
      await server.end('SIGKILL');
      server = await startServer(directory.path, { config });
      Object.assign(place, { url: server.url });
    };
    try {
      await use({ place, directory: directory.path, restart });
    } finally {
      await server.end('SIGKILL');
      await untilNothingCarries(directory.path);
    }
  });
}
