import type { Reporter, TestCase } from 'vitest/node';
import { scaled } from './patience.ts';

/**
 * No test may take longer than this to end after another has; then those that still run are named and the run fails.
 * It is a limit on a standstill and not on the run, which takes as long as the machine needs. A campaign at length,
 * which is one test, names a longer one.
 */
const limitMs = () => Number(process.env.TEST_LIMIT_MS ?? scaled(120_000));

/** Says where a run hangs. */
export default class Watchdog implements Reporter {
  readonly #running = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  onInit(): void {
    this.#wait();
  }
  onTestCaseReady(test: TestCase): void {
    this.#running.set(test.id, `${test.module.relativeModuleId} > ${test.fullName}`);
  }
  onTestCaseResult(test: TestCase): void {
    this.#running.delete(test.id);
    this.#wait();
  }
  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const limit = limitMs();
    this.#timer = setTimeout(() => this.#giveUp(limit), limit);
    this.#timer.unref();
  }

  #giveUp(limit: number): void {
    const names = [...this.#running.values()].join('\n  ') || '(none: it hangs outside a test)';
    process.stderr.write(
      `\nno test has ended for ${Math.round(limit / 1000)} s; still running:\n  ${names}\n`,
    );
    process.exit(1);
  }
}
