import type { Reporter, TestCase } from 'vitest/node';

/** The whole run has to end within this; past it the tests that still run are named and the run fails. */
const LIMIT_MS = Number(process.env.TEST_LIMIT_MS ?? 12 * 60_000);

/** Says where a run hangs. */
export default class Watchdog implements Reporter {
  readonly #running = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  onInit(): void {
    this.#timer = setTimeout(() => {
      const names = [...this.#running.values()].join('\n  ') || '(none: it hangs outside a test)';
      process.stderr.write(
        `\nthe run is over its limit of ${LIMIT_MS / 1000} s; still running:\n  ${names}\n`,
      );
      process.exit(1);
    }, LIMIT_MS);
    this.#timer.unref();
  }
  onTestCaseReady(test: TestCase): void {
    this.#running.set(test.id, `${test.module.relativeModuleId} > ${test.fullName}`);
  }
  onTestCaseResult(test: TestCase): void {
    this.#running.delete(test.id);
  }
  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }
}
