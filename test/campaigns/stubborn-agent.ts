import fs from 'node:fs';
import path from 'node:path';
import { type Identity, identify } from '../../src/core/children/identity.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { commandOf } from '../support/processes/command-line.ts';
import type { AgentCommand } from '../support/server.ts';

/**
 * The demo agent, led by a shell that never ends by itself and ignores TERM. It starts two sleepers that
 * ignore TERM too: `hidden` cleared its environment, so that only its group betrays it, and `away` left the
 * group, so that only its environment does.
 */
const SCRIPT = `
trap '' TERM
cd "$1" || exit
shift
env -i sleep 300 </dev/null >/dev/null 2>&1 & echo $! > hidden.pid
setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $! > away.pid
echo $$ > leader.pid
"$@" demo-agent
while :; do sleep 1; done
`;

/** The command that starts it; it notes its process ids in the directory. */
export function stubbornAgent(directory: string): AgentCommand {
  const { file, args } = selfCommand();
  return { command: '/bin/sh', args: ['-c', SCRIPT, 'agent', directory, file, ...args] };
}

/** Its processes, once it has said its first word. Throws unless all of them run. */
export function stubbornProcesses(
  directory: string,
): Record<'leader' | 'hidden' | 'away', Identity> {
  const read = (name: string): Identity => {
    const found = identify(Number(fs.readFileSync(path.join(directory, `${name}.pid`), 'utf8')));
    if (!found) throw new Error(`the ${name} process of the agent does not run`);
    return found;
  };
  return { leader: read('leader'), hidden: read('hidden'), away: read('away') };
}

/** Ends what a failed test would leave behind: nobody else can find the one without an environment. */
export function endStubbornProcesses(directory: string): void {
  for (const name of ['leader', 'hidden', 'away']) {
    const file = path.join(directory, `${name}.pid`);
    if (!fs.existsSync(file)) continue;
    const pid = Number(fs.readFileSync(file, 'utf8'));
    if (/^sleep|^\/bin\/sh/.test(commandOf(pid))) process.kill(pid, 'SIGKILL');
  }
}
