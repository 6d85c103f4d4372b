import { type ServerOptions, type TestServer, withServer } from './server.ts';
import { shared } from './shared.ts';

/** One server for all tests of a file or `describe`: for those that change nothing another would notice. */
export function sharedServer(options: ServerOptions = {}): () => TestServer {
  return shared('server', (use) => withServer(use, options));
}
