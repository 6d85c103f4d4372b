import { plain } from '../../core/lib/plain.ts';
import { ago, durationText } from '../terminal/time.ts';
import { type Layout, stateStyle, whole } from './layout.ts';

/** When, in Unix milliseconds, and how a record is shown. */
export interface DetailOptions {
  now?: number;
  layout?: Layout;
}

/**
 * A record as aligned lines `name  value` for people. Times are dates, with the time since then on a terminal; lengths of
 * time and sizes have units; nested fields are indented below their name.
 */
export function details(record: object, shown: DetailOptions = {}): string {
  return linesOf(record, shown)
    .map((line) => `${line}\n`)
    .join('');
}

/** A size in bytes with its unit: `12 B`, `3.4 MiB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}

function linesOf(record: object, shown: DetailOptions): string[] {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined);
  const names = fields.map(([name, value]) => (typeof value === 'number' ? nameOf(name) : name));
  const width = Math.max(...names.map((name) => name.length));
  const { palette } = shown.layout ?? whole;
  return fields.flatMap(([field, value], at) => {
    const name = palette.faint((names[at] ?? '').padEnd(width));
    if (isNested(value)) return [name.trimEnd(), ...nested(value, shown)];
    const [first = '', ...more] = textOf(field, value, shown).split('\n');
    return [
      `${name}  ${first}`.trimEnd(),
      ...more.map((line) => `${' '.repeat(width + 2)}${line}`),
    ];
  });
}

function nested(value: object, shown: DetailOptions): string[] {
  if (!Array.isArray(value)) return linesOf(value, shown).map((line) => `  ${line}`);
  return value.flatMap((one: unknown) => {
    const lines = isNested(one) ? linesOf(one, shown) : [textOf('', one, shown)];
    return lines.map((line, at) => (at === 0 ? `- ${line}` : `  ${line}`));
  });
}

/** Whether a value needs lines of its own: an object, or a list with an object in it, that is not empty. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) ? value.some(isNested) : Object.keys(value).length > 0;
}

function textOf(field: string, value: unknown, { now, layout = whole }: DetailOptions): string {
  if (typeof value === 'number')
    return numberText(field, value, layout.isTerminal ? now : undefined);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    const text = plain(value);
    return /(^|_)(status|state)$/.test(field) ? stateStyle(layout.palette, value)(text) : text;
  }
  if (!Array.isArray(value) || value.length === 0) return '-';
  return value.map((one) => textOf('', one, {})).join(', ');
}

function numberText(field: string, value: number, now: number | undefined): string {
  if (/(^|_)(at|until)$|^since$/.test(field) && value > 0) return timeText(value, now);
  if (field.endsWith('_ms')) return durationText(value);
  return /(^|_)bytes$/.test(field) ? sizeText(value) : String(value);
}

/** A time in Unix milliseconds: `2026-11-22T08:15:00Z`, with `now` also how long ago that was, or when it will be. */
export function timeText(time: number, now?: number): string {
  const date = new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
  if (now === undefined) return date;
  return time > now ? `${date} (in ${ago(time - now)})` : `${date} (${ago(now - time)} ago)`;
}

/** The name of a field without the unit, which its text has. */
function nameOf(field: string): string {
  return field.replace(/_(ms|bytes)$/, '');
}
