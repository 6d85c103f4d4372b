import type { QueryOf } from '../../../api/endpoint.ts';
import type { getUsage, UsageReport, UsageRow } from '../../../api/usage.ts';
import { invalidError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { isTimeZone, ownTimeZone } from '../../../core/lib/cron.ts';
import { dayOf, endOfDay, startOfDay } from '../../../core/lib/days.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import { mostTokensFirst, noSums, plus, type UsageSums } from '../../../core/lib/usage-sums.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { KeyedSums } from '../sessions/turn-usage.ts';
import type { Reader } from '../../../core/store/transaction.ts';

const DAY_MS = 86_400_000;
/** The days before today that a report has if nobody says since when. */
const DAYS = 29;
/** The part of a day that is summed at once, in ms, so that a report over many turns lets others in between. */
const PART_MS = 3_600_000;

interface UsageServiceDeps extends Pick<ServerParts, 'db' | 'clock'> {
  sessionStore: SessionStore;
  teams: { nameOf: (rx: Reader, id: string) => string | null };
}

export class UsageService {
  readonly #deps: UsageServiceDeps;

  constructor(deps: UsageServiceDeps) {
    this.#deps = deps;
  }

  /** Sums what turns have used. A turn that ends meanwhile is in the report or not. Throws `invalid`. */
  async report(query: QueryOf<typeof getUsage>): Promise<UsageReport> {
    const time_zone = query.time_zone ?? ownTimeZone();
    if (!isTimeZone(time_zone))
      throw invalidError(
        `query.time_zone: "${time_zone}" is not a time zone: use a name such as Europe/Berlin`,
      );
    const now = this.#deps.clock.now();
    // A turn of this millisecond has ended.
    const until = query.until ?? now + 1;
    const since =
      query.since ?? startOfDay(startOfDay(now, time_zone) - DAYS * DAY_MS + DAY_MS / 2, time_zone);
    const { sums, total } = await this.#sum({ by: query.by, since, until, time_zone });
    const rows = this.#deps.db.peek((rx) =>
      sums.slice(0, query.limit).map((one) => this.#row(rx, query.by, one)),
    );
    const left_out = Math.max(0, sums.length - query.limit);
    return { by: query.by, since, until, time_zone, rows, left_out, total };
  }

  /** Sums part by part, each no longer than an hour and within one day. */
  async #sum({
    by,
    since,
    until,
    time_zone,
  }: Range): Promise<{ sums: KeyedSums[]; total: UsageSums }> {
    const { db, sessionStore, clock } = this.#deps;
    const byKey = new Map<string, KeyedSums>();
    const days: KeyedSums[] = [];
    let total = noSums;
    let dayEnd = -Infinity;
    let pauseAt = clock.monotonic() + SLICE_MS;
    for (let at: number | null = since; ;) {
      const from: number | null = db.peek((rx) => sessionStore.usage.firstFrom(rx, at ?? 0));
      if (from === null || from >= until) break;
      if (from >= dayEnd) {
        dayEnd = endOfDay(from, time_zone);
        days.unshift({ key: dayOf(from, time_zone), second: null, ...noSums });
      }
      const to = Math.min(dayEnd, from + PART_MS, until);
      const own = by === 'day' ? 'all' : by;
      const parts = db.peek((rx) => sessionStore.usage.sums(rx, own, from, to));
      // A turn can be in the sums of several teams.
      const all =
        by === 'team' ? db.peek((rx) => sessionStore.usage.sums(rx, 'all', from, to)) : parts;
      for (const part of all) total = plus(total, part);
      if (by !== 'day') for (const part of parts) addTo(byKey, part);
      else if (days[0]) for (const part of parts) days[0] = { ...days[0], ...plus(days[0], part) };
      at = to;
      if (clock.monotonic() < pauseAt) continue;
      await yieldToEventLoop();
      pauseAt = clock.monotonic() + SLICE_MS;
    }
    return { sums: by === 'day' ? days : [...byKey.values()].toSorted(mostTokensFirst), total };
  }

  #row(rx: Reader, by: UsageReport['by'], { key, second, ...sums }: KeyedSums): UsageRow {
    const { sessionStore, teams } = this.#deps;
    const session =
      by === 'session' && key !== null ? sessionStore.sessions.get(rx, key) : undefined;
    const name = by === 'team' && key !== null ? teams.nameOf(rx, key) : (session?.title ?? null);
    const provider =
      by === 'provider' ? (key as UsageRow['provider']) : (session?.provider ?? null);
    const agent = by === 'provider' ? second : (session?.agent ?? null);
    return { key, name, provider, agent, ...sums };
  }
}

/** How long sums may be made without letting others in, in ms. */
const SLICE_MS = 5;

interface Range {
  by: UsageReport['by'];
  since: number;
  until: number;
  time_zone: string;
}

function addTo(byKey: Map<string, KeyedSums>, sums: KeyedSums): void {
  const name = JSON.stringify([sums.key, sums.second]);
  const before = byKey.get(name);
  byKey.set(name, before ? { ...before, ...plus(before, sums) } : sums);
}
