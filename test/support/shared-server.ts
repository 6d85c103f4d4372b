import { type ServerOptions, type TestServer, withServer } from './server.ts';
import { shared } from './shared.ts';

/** One server for all tests of a file or `describe`, for tests whose changes do not affect each other. */
export function sharedServer(options: ServerOptions = {}): () => TestServer {
  return shared('server', (use) => withServer(use, options));
}
