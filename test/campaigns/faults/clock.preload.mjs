// Sets the wall clock of a server by the number of milliseconds in a file, while the server runs.
import { readFileSync } from 'node:fs';

const { CAMPAIGN_CLOCK: file } = process.env;
const READ_EVERY_MS = 20;
const RealDate = Date;
let offset = 0;
let readAt = -Infinity;

function now() {
  const at = performance.now();
  if (at - readAt >= READ_EVERY_MS) {
    readAt = at;
    try {
      offset = Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      // Without a free descriptor the clock keeps its offset.
    }
  }
  return RealDate.now() + offset;
}

if (file !== undefined) {
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
