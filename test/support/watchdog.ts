import type { Reporter, TestCase } from 'vitest/node';

/**
 * No test may take longer than this to end after another has; then those that still run are named and the run fails.
 * It is a limit on a standstill and not on the run, which takes as long as the machine needs.
 */
const LIMIT_MS = Number(process.env.TEST_LIMIT_MS ?? 5 * 60_000);

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
    this.#timer = setTimeout(() => this.#giveUp(), LIMIT_MS);
    this.#timer.unref();
  }

  #giveUp(): void {
    const names = [...this.#running.values()].join('\n  ') || '(none: it hangs outside a test)';
    process.stderr.write(
      `\nno test has ended for ${LIMIT_MS / 1000} s; still running:\n  ${names}\n`,
    );
    process.exit(1);
  }
}
