import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../../src/api/index.ts';
import type { Process } from '../../../../src/api/processes.ts';
import type { Violations } from '../../crash/checks.ts';
import {
  type FinalState,
  pauseRandomly,
  type Activity,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

/** Words in the command of each process, by which a fault finds it. */
export const PROCESS_MARK = 'process-of-campaign';

/** Commands with output and a time to run, some of which are killed. */
export class ProcessActivity implements Activity {
  readonly name = 'processes';
  readonly #context: ActivityContext;
  readonly #labels = new Map<string, string>();
  readonly #runs: string;

  constructor(context: ActivityContext) {
    this.#context = context;
    this.#runs = path.join(context.place, 'runs');
  }

  async run(): Promise<void> {
    await Promise.all([this.#work(), this.#work(), this.#work()]);
  }

  async check({ client, log }: FinalState): Promise<Violations> {
    const wrong: Violations = [];
    const runs = fs.existsSync(this.#runs) ? fs.readFileSync(this.#runs, 'utf8').split('\n') : [];
    const ends = Map.groupBy(
      log.filter(({ kind }) => /^process\.(completed|failed|timed_out|killed)$/.test(kind)),
      ({ process_id }) => process_id ?? '',
    );
    for (const [id, label] of this.#labels) {
      const params = { process_id: id };
      const process = await client.call(endpoints.getProcess, { params });
      const { stdout } = await client.call(endpoints.getProcessLogs, { params });
      wrong.push(
        ...checkProcess(process, {
          label,
          output: stdout?.content ?? '',
          ends: (ends.get(id) ?? []).map(({ kind }) => kind),
          runs: runs.filter((one) => one === label).length,
        }),
      );
    }
    return wrong;
  }

  async #work(): Promise<void> {
    const context = { ...this.#context, random: this.#context.random.fork() };
    const { requests, receipts, random } = context;
    await untilClosing(context, async () => {
      const label = context.newLabel();
      const seconds = random.between(2, 40) / 10;
      const command = `: ${PROCESS_MARK}; echo ${label} >> ${this.#runs}; echo ${label} begins; sleep ${seconds}; echo ${label} ends`;
      const body = { command, cwd: context.place };
      const { process } = await requests.call(endpoints.createProcess, { body });
      receipts.add('process.queued', process.process_id);
      this.#labels.set(process.process_id, label);
      if (random.chance(0.2)) {
        await pauseRandomly(context, 1000);
        const params = { process_id: process.process_id };
        await requests.call(endpoints.killProcess, { params, body: { reason: 'a test' } });
      }
      await context.eventWaiter.endOf(process.process_id);
      await pauseRandomly(context, 300);
    });
  }
}

/**
 * A process has run at most once and has one end, and its output is what its command has written. A part of the output may
 * be missing at its end if the record says so, since a full disk cannot keep it.
 */
export function checkProcess(
  process: Pick<Process, 'process_id' | 'status' | 'stdout_bytes' | 'stdout_truncated'>,
  found: { label: string; output: string; ends: readonly string[]; runs: number },
): Violations {
  const { process_id: id, status, stdout_bytes, stdout_truncated } = process;
  const { label, output, ends, runs } = found;
  const wrong: Violations = [];
  if (ends.join() !== `process.${status}`)
    wrong.push(`process ${id} is ${status}, its ends are ${ends.join(', ') || 'none'}`);
  const whole = `${label} begins\n${label} ends\n`;
  const isPart = stdout_truncated || status !== 'completed';
  const isRight = isPart ? whole.startsWith(output) : output === whole;
  if (!isRight) wrong.push(`process ${id} is ${status} with the output ${JSON.stringify(output)}`);
  if (status === 'completed' && stdout_bytes !== whole.length)
    wrong.push(`process ${id} has printed ${whole.length} bytes, its record says ${stdout_bytes}`);
  if (runs > 1 || (status === 'completed' && runs !== 1))
    wrong.push(`process ${id} is ${status} and has run ${runs} times`);
  return wrong;
}
