/** Marks the time in which a function reads or writes rows: a transaction that is started inside it throws. */
export class ReentryGuard {
  isRunning = false;

  run<T>(fn: () => T): T {
    if (this.isRunning) return fn();
    this.isRunning = true;
    try {
      return fn();
    } finally {
      this.isRunning = false;
    }
  }
}
