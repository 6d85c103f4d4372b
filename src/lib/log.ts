import { Writable } from 'node:stream';
import { type LevelWithSilent, type Logger, pino } from 'pino';
import { lineForPeople } from './log-line.ts';

export type { Logger } from 'pino';
export type LogLevel = LevelWithSilent;

/** Replaces a secret in a log line. */
const REDACTED = '[secret]';
/** Matches the tokens that a server generates: a client may have put one anywhere, even into a URL. */
const TOKEN = /cadre_[\w-]{43}/g;

/**
 * Creates the log: one JSON object a line, or a short line for people if `pretty`. Every secret that `secrets()` returns
 * is redacted, wherever in the line it occurs.
 */
export function createLog(given: {
  level: LogLevel;
  destination: NodeJS.WritableStream;
  pretty: boolean;
  secrets: () => Iterable<string>;
}): Logger {
  const { level, destination, pretty, secrets } = given;
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      const text = withoutSecrets(line.replaceAll(TOKEN, REDACTED), [...secrets()]);
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
    },
    stream,
  );
}

/** A log that discards everything. */
export function silentLog(): Logger {
  return pino({ level: 'silent' });
}

/** Redacts the strings of a log line. Everything else stays, so the line is still valid JSON. */
function withoutSecrets(line: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const mayHold = known.some((secret) => line.includes(JSON.stringify(secret).slice(1, -1)));
  if (!mayHold) return line;
  const parsed = JSON.parse(line) as { level: string };
  // The level is not redacted: it is never a secret, and readers filter by it.
  return `${JSON.stringify({ ...(redact(parsed, known) as object), level: parsed.level })}\n`;
}

function redact(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string')
    return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), value);
  if (Array.isArray(value)) return value.map((part) => redact(part, secrets));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).map(([name, part]) => [
    redact(name, secrets),
    redact(part, secrets),
  ]);
  return Object.fromEntries(parts) as unknown;
}
