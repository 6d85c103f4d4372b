import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/** The release that the tests run against, by its Go module. */
const VERSION = '2.15.2';
const MODULE = `github.com/nats-io/nats-server/v2@v${VERSION}`;
const directory = path.join(import.meta.dirname, `../../../.cache/nats-server-${VERSION}`);

/** The program of NATS. */
export const natsServer = path.join(directory, 'nats-server');

const execute = promisify(execFile);

/**
 * Installs NATS from its source unless it is already installed. Returns the reason of a failure, such as a
 * machine without Go. Two callers must not run it at once.
 */
export async function installNatsServer(): Promise<string | null> {
  if (versionOf() === VERSION) return null;
  if (!hasGo()) return 'there is no Go on this machine, which builds nats-server';
  process.stderr.write(`test-fleet: installing nats-server ${VERSION}; this happens once\n`);
  fs.mkdirSync(directory, { recursive: true });
  await execute('go', ['install', MODULE], {
    timeout: 600_000,
    env: { ...process.env, GOBIN: directory },
  });
  const found = versionOf();
  if (found !== VERSION)
    throw new Error(`nats-server is ${found ?? 'not runnable'} after go install, not ${VERSION}`);
  return null;
}

function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function versionOf(): string | undefined {
  try {
    const said = execFileSync(natsServer, ['--version'], { encoding: 'utf8' });
    return /v(\d+\.\d+\.\d+)/.exec(said)?.[1];
  } catch {
    return undefined;
  }
}
