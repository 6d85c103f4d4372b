import { afterAll, beforeAll } from 'vitest';
import { type ServerOptions, type TestServer, withServer } from './server.ts';

/** One server for all tests of a file or `describe`: for those that change nothing another would notice. */
export function sharedServer(options: ServerOptions = {}): () => TestServer {
  const over = Promise.withResolvers<void>();
  let shared: TestServer | undefined;
  let open: Promise<void> = Promise.resolve();
  beforeAll(async () => {
    const ready = Promise.withResolvers<void>();
    open = withServer(async (server) => {
      shared = server;
      ready.resolve();
      await over.promise;
    }, options);
    await Promise.race([ready.promise, open]);
  });
  afterAll(async () => {
    over.resolve();
    await open;
  });
  return () => {
    if (!shared) throw new Error('no server: call it inside a test');
    return shared;
  };
}
