import type { Sample } from './prometheus.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts requests with a response, by method and class of status. */
export class RequestCounts {
  readonly #counts = new Map<string, Sample & { labels: Record<string, string> }>();

  add(method: string, status: number): void {
    // A client may send any word as its method, so unknown methods share one count.
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      status: `${Math.floor(status / 100)}xx`,
    };
    const key = `${labels.method} ${labels.status}`;
    this.#counts.set(key, { labels, value: (this.#counts.get(key)?.value ?? 0) + 1 });
  }

  samples(): Sample[] {
    return [...this.#counts.values()];
  }
}
