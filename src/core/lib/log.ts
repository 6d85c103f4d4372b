import { Writable } from 'node:stream';
import { type LevelWithSilent, type Logger, pino } from 'pino';
import { lineForPeople } from './log-line.ts';

export type { Logger } from 'pino';
export type LogLevel = LevelWithSilent;

const REDACTED = '[secret]';
/** Matches the tokens that a server generates: a client may have put one anywhere, even into a URL. */
const TOKEN = /cadre_[\w-]{43}/g;

/**
 * Creates the log: one JSON object a line, or a short line for people if `pretty`. Every secret that `secrets()` returns
 * is redacted, wherever in the line it occurs, except for a part of a field that the log itself writes.
 */
export function createLog(options: {
  level: LogLevel;
  destination: NodeJS.WritableStream;
  pretty: boolean;
  secrets: () => Iterable<string>;
}): Logger {
  const { level, destination, pretty, secrets } = options;
  const known = () => [...secrets()].filter((secret) => secret !== '');
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      const text = withoutSecrets(line.replaceAll(TOKEN, REDACTED), known());
      destination.write(pretty ? lineForPeople(text) : text);
      done();
    },
  });
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        route: (route: unknown) =>
          route instanceof UnknownPath ? redact(route.path, patternOf(known())) : route,
      },
    },
    stream,
  );
}

/** A path of a request that has no route, for the field `route`: unlike a route, it may hold a secret. */
export class UnknownPath {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

export function silentLog(): Logger {
  return pino({ level: 'silent' });
}

/** Redacts the strings of a log line. Everything else stays, so the line is still valid JSON. */
function withoutSecrets(line: string, secrets: readonly string[]): string {
  const mayHold = secrets.some((secret) => line.includes(JSON.stringify(secret).slice(1, -1)));
  if (!mayHold) return line;
  const pattern = patternOf(secrets);
  const fields = Object.entries(JSON.parse(line) as object).map(([name, value]) => {
    if (OWN_FIELD.test(name)) return [name, value];
    if (ID_FIELD.test(name)) return [name, secrets.includes(value as string) ? REDACTED : value];
    return [redact(name, pattern), redact(value, pattern)];
  });
  return `${JSON.stringify(Object.fromEntries(fields))}\n`;
}

/** The fields that the log itself writes, and readers filter by. */
const OWN_FIELD = /^(level|time|pid|method|route)$/;
/** The fields with ids. A client may have sent one, so an id that is a secret as a whole is redacted. */
const ID_FIELD = /^(reqId|\w+_id)$/;

/** Matches the secrets. The longest come first: a secret may contain another. */
function patternOf(secrets: readonly string[]): RegExp {
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length);
  const literal = (secret: string) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(longestFirst.map(literal).join('|') || '(?!)', 'g');
}

function redact(value: unknown, secrets: RegExp): unknown {
  if (typeof value === 'string') return value.replaceAll(secrets, REDACTED);
  if (Array.isArray(value)) return value.map((part) => redact(part, secrets));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).map(([name, part]) => [
    redact(name, secrets),
    redact(part, secrets),
  ]);
  return Object.fromEntries(parts) as unknown;
}
