import { type ChildProcess, spawn } from 'node:child_process';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type Identity, identify, MARKER_VARIABLE } from './identity.ts';
import type { ProcessTable } from './process-table.ts';
import { processTable } from './this-machine.ts';

/**
 * A process that outlives the server by a moment. It reads lines from a pipe whose only other end is the server's: the
 * marker first, then `+ GROUP STARTED` and `- GROUP` as children start and end. When the pipe closes, because the server
 * stopped or was killed, it kills every group on its list and then every process that carries the marker, until a scan
 * finds none; how it does so depends on how processes are found on this machine.
 *
 * It ignores the signals by which a terminal or a service manager ends all processes of the server at once.
 *
 * It is a plain POSIX shell script, so it costs little and does not depend on cadre's own files. A group id belongs to
 * its group as long as the leader has the listed start time, or has exited: the kernel does not reuse the id while a
 * member lives.
 */
export const keeperScript = (table: ProcessTable): string => `
trap '' TERM INT HUP ABRT
IFS= read -r marker || exit 0
groups=' '
while IFS=' ' read -r sign group started; do
  case $sign in
    +) groups="$groups$group:$started " ;;
    -) case $groups in *" $group:"*)
         rest=\${groups#*" $group:"}
         groups="\${groups%%" $group:"*} \${rest#* }" ;; esac ;;
  esac
done
${table.keeperEnds()}`;

const RETRY_MS = 1000;

/**
 * Starts the keeper before the first child, and reports groups to it; if it dies, starts another one and reports all live
 * groups to that. A server without children has none: to start a process takes longer than most of what a start does.
 */
export class Keeper {
  readonly #marker: string;
  readonly #log: Pick<Logger, 'warn' | 'error'>;
  readonly #groups = new Map<number, Identity>();
  #child: ChildProcess | undefined;
  #stopping = false;

  constructor({ marker, log }: { marker: string; log: Pick<Logger, 'warn' | 'error'> }) {
    this.#marker = marker;
    this.#log = log;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Called before a process is started that carries the marker. Throws if the keeper cannot be started. */
  ensure(): void {
    if (!this.#child) this.#start();
  }

  /** From here on the group dies with the server. When this returns, the keeper is alive and knows every live group. */
  add(leader: Identity): void {
    this.#groups.set(leader.pid, leader);
    if (this.#child) this.#say(lineOf(leader));
    else this.#start();
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) this.#say(`- ${group}`);
  }

  /** Closes the pipe and waits until the keeper has killed what is left. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (!child) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.ref();
    child.stdin?.end();
    await exited;
  }

  #start(): void {
    const child = spawn('/bin/sh', ['-c', keeperScript(processTable)], {
      // It has a session of its own, so a signal to the server's session does not reach it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // It must not carry the marker, or it would kill itself.
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    });
    // Without a listener the error of a process that could not be started would end the server.
    child.on('error', () => undefined);
    if (!child.pid || !identify(child.pid))
      throw new Error(
        'cannot start the keeper, a process that stops child processes after a crash of the server: check that /bin/sh exists, and that the limits of processes and open files are not reached',
      );
    this.#child = child;
    child.stdin?.on('error', () => undefined);
    child.once('exit', (code, name) => {
      this.#child = undefined;
      if (this.#stopping) return;
      this.#log.warn({ code, signal: name }, 'the keeper exited: starting another');
      this.#replace();
    });
    child.unref();
    this.#say(`${MARKER_VARIABLE}=${this.#marker}`);
    for (const leader of this.#groups.values()) this.#say(lineOf(leader));
  }

  /** Repeats until it succeeds, because without a keeper the groups would outlive a kill of the server. */
  #replace(isAgain = false): void {
    if (this.#child || this.#stopping) return;
    try {
      this.#start();
    } catch (err) {
      if (!isAgain) this.#log.error({ err }, 'cannot start a keeper: trying again every second');
      systemClock.after(RETRY_MS, () => this.#replace(true));
    }
  }

  #say(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }
}

function lineOf({ pid, startedTicks }: Identity): string {
  return `+ ${pid} ${processTable.wordOf(startedTicks)}`;
}
