// Looks at a child, tries to start others, and ends the child by a marker, while this process may open no more files.
// Reports in a line of JSON. The directory has the programs of sandboxes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { startConnected } from '../../../src/core/children/detached.ts';
import {
  groupRuns,
  identify,
  isAlive,
  killCarriers,
  membersOf,
} from '../../../src/core/children/identity.ts';
import { SandboxNetwork } from '../../../src/core/children/sandbox/network/network.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { codeOf } from '../../../src/core/lib/system-error.ts';

const [marker = '', directory = ''] = process.argv.slice(2);
const [name = '', value = ''] = marker.split('=');
const child = spawn('sleep', ['600'], {
  detached: true,
  stdio: 'ignore',
  env: { ...process.env, [name]: value },
});
const pid = child.pid ?? 0;
const ended = once(child, 'exit');
const identity = identify(pid);
const taken: number[] = [];
try {
  for (;;) taken.push(fs.openSync('/dev/null', 'r'));
} catch {
  // No descriptor is left.
}
const seen = {
  isAlive: identity !== undefined && isAlive(identity),
  members: (await membersOf(pid)).length,
  runs: await groupRuns(pid),
  connected: connectedProgram(),
  network: await SandboxNetwork.open(directory, [], systemClock).catch(codeOf),
};
await killCarriers(marker);
const [, signal] = await ended;
for (const fd of taken) fs.closeSync(fd);
process.stdout.write(JSON.stringify({ ...seen, taken: taken.length > 10, signal }));

function connectedProgram(): string {
  try {
    startConnected({ file: '/bin/true', args: [], env: {}, cwd: '/' });
    return 'started';
  } catch (error) {
    return (error as Error).message;
  }
}
