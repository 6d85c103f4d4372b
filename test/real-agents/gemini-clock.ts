// Node loads this before gemini. If gemini opens a session again in the minute of its creation, the session is lost,
// because the new file replaces the old one. So the clock of each gemini begins GEMINI_CLOCK_STEP minutes after the
// clock of the gemini before it, at the start of a minute.
import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MINUTE_MS = 60_000;
const starts = join(process.env.HOME ?? '', 'starts');
appendFileSync(starts, '.');
const step = Number(process.env.GEMINI_CLOCK_STEP) * MINUTE_MS;
const real = Date.now;
const begun = real();
const first = Date.parse('2030-01-01T00:00:00Z') + statSync(starts).size * step;
const now = () => first + (real() - begun);

globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], as) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], as) as Date,
  apply: () => new Date().toString(),
  get: (target, key, receiver) =>
    key === 'now' ? now : (Reflect.get(target, key, receiver) as unknown),
});
