import { plain } from './plain.ts';

/** A short form of a line of the log, without control sequences that would act on the terminal. */
export function lineForPeople(line: string): string {
  const { level, time, msg, pid: _pid, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const head =
    `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(msg)} ${details.join(' ')}`.trimEnd();
  const stack = (err as { stack?: string } | undefined)?.stack;
  return `${plain(stack ? `${head}\n${stack}` : head)}\n`;
}
