import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { PassThrough, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { pickVariables } from '../../../src/core/children/environment.ts';
import { type Identity, identify } from '../../../src/core/children/identity.ts';
import { Keeper } from '../../../src/core/children/keeper.ts';
import { Ledger } from '../../../src/core/children/ledger.ts';
import { Shim } from '../../../src/core/children/shim/shim.ts';
import { type Child, Supervisor } from '../../../src/core/children/supervisor.ts';
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import { failpointsFrom } from '../../../src/core/lib/failpoint.ts';
import { newSecret } from '../../../src/core/lib/ids.ts';
import { createLog } from '../../../src/core/lib/log.ts';
import type { Database } from '../../../src/core/store/database.ts';
import { openDatabase } from '../../support/database.ts';

/** The part of a server that has children, with a shim. */
export interface Host extends AsyncDisposable {
  db: Database;
  ledger: Ledger;
  shim: Shim;
  supervisor: Supervisor;
  log: ReturnType<typeof createLog>;
  /** Starts a shell script in the shim. */
  run(script: string, env?: Record<string, string>, isStored?: boolean): Promise<Child>;
}

export async function openHost(
  directory: string,
  graceMs = 60_000,
  pings: Clock = systemClock,
): Promise<Host> {
  const db = await openDatabase(directory);
  const clock = systemClock;
  const marker = newSecret();
  const log = createLog({
    level: 'silent',
    destination: new PassThrough(),
    pretty: false,
    secrets: () => [],
  });
  const keeper = new Keeper({ marker, log });
  const ledger = new Ledger({ db, clock, marker });
  const shim = new Shim({ directory, graceMs, clock: pings, log });
  const supervisor = new Supervisor({
    keeper,
    ledger,
    shim,
    clock,
    failpoint: failpointsFrom(process.env.CADRE_FAILPOINTS),
    log,
    marker,
    variablesAt: () => ({}),
  });
  await shim.find();
  return {
    db,
    ledger,
    shim,
    supervisor,
    log,
    run: (script, env = {}, isStored = false) =>
      supervisor.start({
        command: '/bin/sh',
        args: ['-c', script],
        cwd: directory,
        env: { PATH: process.env.PATH ?? '', ...env },
        what: 'a script',
        outlives: true,
        isStored,
      }),
    async [Symbol.asyncDispose]() {
      await supervisor.endAll(0);
      await shim.end();
      await keeper.stop();
      await db.close();
    },
  };
}

/** An order to the process of a server, and its reports; see shim-server.ts. */
export interface Order {
  write?: [message: string, key: string];
  acknowledge?: number;
}
export interface Report {
  pid?: number;
  shim?: Identity;
  took?: string;
  /** All that the child has written so far. */
  bytes?: number;
  text?: string;
  /** The child and its group are gone. */
  isOver?: boolean;
}

/** A server in a process of its own, with a child in the shim. The test kills it. */
export class ServerProcess {
  readonly child: Promise<Identity>;
  readonly shim: Promise<Identity>;
  readonly exited: Promise<unknown>;
  readonly #process: ChildProcess;
  readonly #reports: Report[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(directory: string, script: string, { graceMs = 60_000, env = {} } = {}) {
    const file = fileURLToPath(new URL('shim-server.ts', import.meta.url));
    this.#process = spawn(process.execPath, [file, directory, String(graceMs), script], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH ?? '',
        TMPDIR: process.env.TMPDIR ?? '/tmp',
        ...pickVariables(['CADRE_TEST_ONLY_PLATFORM'], process.env),
        ...env,
      },
    });
    this.exited = once(this.#process, 'exit');
    this.#process.stdin?.on('error', () => undefined);
    createInterface({ input: this.#process.stdout as Readable }).on('line', (line) => {
      this.#reports.push(JSON.parse(line) as Report);
      for (const look of this.#waiting) look();
    });
    this.child = this.report(({ pid }) => pid !== undefined).then(({ pid = 0 }) => identified(pid));
    this.shim = this.report(({ shim }) => shim !== undefined).then(({ shim }) => shim as Identity);
    for (const one of [this.child, this.shim]) one.catch(() => undefined);
  }

  order(order: Order): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /** Resolves with the first report that fits. Rejects if the process ends before. */
  async report(fits: (report: Report) => boolean): Promise<Report> {
    const found = Promise.withResolvers<Report>();
    const look = () => {
      const report = this.#reports.find(fits);
      if (report) found.resolve(report);
    };
    this.#waiting.add(look);
    look();
    void this.exited.then(() => found.reject(new Error('the process of the server has ended')));
    return found.promise.finally(() => this.#waiting.delete(look));
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.exited;
  }
}

/** The keeper of a shim: the process that it has started without the marker of its children. Undefined between two keepers. */
export function findKeeper(shim: Identity): Identity | undefined {
  const names = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const keeper = names.find((name) => {
    const stat = readProc(`${name}/stat`);
    const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    return parent === `${shim.pid}` && readProc(`${name}/cmdline`).includes('read -r marker');
  });
  return keeper === undefined ? undefined : identify(Number(keeper));
}

export function keeperOfShim(shim: Identity): Identity {
  const found = findKeeper(shim);
  if (!found) throw new Error('the shim has no keeper');
  return found;
}

/** Empty if the process has ended. */
function readProc(file: string): string {
  try {
    return fs.readFileSync(`/proc/${file}`, 'latin1');
  } catch {
    return '';
  }
}

export function identified(pid: number): Identity {
  const found = identify(pid);
  if (!found) throw new Error(`no process ${pid}`);
  return found;
}
