// Node loads this before gemini: its clock begins a minute after that of the gemini before it. A session that gemini
// opens again in the minute in which it was made is empty: what it then writes replaces what it had written.
import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const starts = join(process.env.HOME ?? '', 'starts');
appendFileSync(starts, '.');
const ahead = statSync(starts).size * 60_000;
const real = Date.now;
const late = () => real() + ahead;

globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], as) =>
    Reflect.construct(target, args.length > 0 ? args : [late()], as) as Date,
  apply: () => new Date().toString(),
  get: (target, key, receiver) =>
    key === 'now' ? late : (Reflect.get(target, key, receiver) as unknown),
});
