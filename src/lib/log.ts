import { Writable } from 'node:stream';
import { type Logger, pino, type LevelWithSilent } from 'pino';

export type { Logger } from 'pino';
export type LogLevel = LevelWithSilent;

/** What stands in a log line where a secret stood. */
const REDACTED = '[secret]';

/**
 * The log: one JSON object a line, or a short line for people when `pretty`. No line shows a secret that
 * `secrets()` knows, wherever in the line it would stand.
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
      let text = line;
      for (const secret of secrets()) if (secret) text = text.replaceAll(secret, REDACTED);
      destination.write(pretty ? forPeople(text) : text);
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

/** A log that says nothing. */
export function silentLog(): Logger {
  return pino({ level: 'silent' });
}

function forPeople(line: string): string {
  const { level, time, msg, pid: _pid, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const stack = (err as { stack?: string } | undefined)?.stack;
  return (
    `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(msg)} ${details.join(' ')}`.trimEnd() +
    (stack ? `\n${stack}\n` : '\n')
  );
}
