import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** How a client on this machine finds the running server. The file has no secret in it, only where one is. */
const registration = z.looseObject({
  url: z.string(),
  pid: z.int(),
  version: z.string(),
  token_file: z.string().nullable(),
});
export type Registration = z.output<typeof registration>;

const NAME = 'server.json';

/** Writes the registration, whole or not at all. */
export function register(directory: string, server: Registration): void {
  const file = path.join(directory, NAME);
  const draft = `${file}.${server.pid}`;
  fs.writeFileSync(draft, `${JSON.stringify(server, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(draft, file);
}

export function unregister(directory: string): void {
  fs.rmSync(path.join(directory, NAME), { force: true });
}

/** The registered server, or null where there is none, or its process is gone. */
export function findRegistration(directory: string): Registration | null {
  try {
    const found = registration.parse(
      JSON.parse(fs.readFileSync(path.join(directory, NAME), 'utf8')),
    );
    process.kill(found.pid, 0);
    return found;
  } catch {
    return null;
  }
}
