// Looks at a child, and ends it by a marker, while this process may open no more files. Reports in a line of JSON.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import {
  groupRuns,
  identify,
  isAlive,
  killCarriers,
  membersOf,
} from '../../../src/core/children/identity.ts';

const [marker = ''] = process.argv.slice(2);
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
};
await killCarriers(marker);
const [, signal] = await ended;
for (const fd of taken) fs.closeSync(fd);
process.stdout.write(JSON.stringify({ ...seen, taken: taken.length > 10, signal }));
