import { z } from 'zod';
import type { EventScope, Kind } from '../../src/api/event-kinds/kind.ts';
import { eventGroups, type EventKind, eventKinds, kinds } from '../../src/api/events.ts';
import { type Schema, typeOf } from './schema-words.ts';

/** docs/events.md: for each kind of event when it comes, its payload and an example. */
export function eventsPage(): string {
  const records: Record<string, Schema> = {};
  const groups = eventGroups.map((group) => groupOf(group, records));
  return [
    head,
    index(),
    ...groups,
    '## Records\n\nWhat payloads hold, by name. A field that is marked † may be absent.',
    ...recordsOf(records),
    '',
  ].join('\n\n');
}

const head = `# Events

Written by \`make openapi\` from src/api/event-kinds.

Everything that happens is an event in one log. How to read it is in [streams.md](streams.md). Each event is a record:

| Field | Type | |
| --- | --- | --- |
| \`seq\` | integer | Its place in the log: strictly rising over the whole runtime, never given twice, with holes. |
| \`id\` | string | |
| \`kind\` | string | What happened: one of the kinds below. |
| \`scope\` | string | What it is about: runtime, session, process, worktree or team. |
| \`session_id\`, \`turn_id\`, \`process_id\`, \`worktree_id\`, \`team_id\` | string or null | It belongs to each scope whose id it carries. |
| \`created_at\` | integer | Unix milliseconds. |
| \`v\` | integer | The version of its payload. |
| \`payload\` | object | By kind, as follows. |

Within v1, kinds and fields are added, never changed or removed: pass over a kind or a field that you do not know.
An event that was written before an upgrade lacks the fields that were added since.

A payload is at most 256 KiB of JSON. In a longer one texts above 64 KiB are cut, and it has two fields more:
\`truncated\` (true) and \`total_bytes\` (of its longest text). Where it is still too long then, its texts are cut further,
and at last fields above 1 KiB are left out, of those that its kind names as fields that it may lack. What an approval is
decided by is never cut: it is whole, or left out. The whole is kept in the record or item itself, whose ids are always
there.

Deltas tell of an item, or of what a process prints, while it grows. They leave the log a minute after its end has
come, which has the whole; what a process printed is in its logs.`;

function index(): string {
  const lines = eventGroups.map((group) => {
    const links = kindsIn(group).map((kind) => `[${kind}](#${kind.replaceAll('.', '')})`);
    return `- ${links.join(', ')}`;
  });
  return lines.join('\n');
}

function kindsIn(group: string): EventKind[] {
  return eventKinds.filter((kind) => kind.startsWith(`${group}.`));
}

function groupOf(group: string, records: Record<string, Schema>): string {
  const parts = kindsIn(group).map((kind) => sectionOf(kind, kinds[kind], records));
  return [`## Events of ${group}`, ...parts].join('\n\n');
}

const scopeWords: Record<EventScope, string> = {
  runtime: 'the runtime',
  session: 'a session',
  process: 'a process',
  worktree: 'a worktree',
  team: 'a team',
};

function sectionOf(name: string, kind: Kind, records: Record<string, Schema>): string {
  const part = { delta: ' It is a delta.', end: ' It closes what its deltas told of.' };
  return [
    `### ${name}`,
    `${kind.when} It is an event of ${scopeWords[kind.scope]}.${kind.part ? part[kind.part] : ''}`,
    payloadOf(kind, records),
    `\`\`\`json\n${JSON.stringify(kind.example, null, 2)}\n\`\`\``,
  ].join('\n\n');
}

function payloadOf({ payload, large }: Kind, records: Record<string, Schema>): string {
  if (Object.keys(payload).length === 0) return 'Its payload is empty.';
  const { $defs = {}, ...schema } = z.toJSONSchema(z.looseObject(payload)) as Schema & {
    $defs?: Record<string, Schema>;
  };
  Object.assign(records, $defs);
  const lacking = large.map((field) => `\`${field}\``).join(', ');
  const note = lacking ? `\n\nIf it is truncated, it may lack ${lacking}.` : '';
  return tableOf(schema) + note;
}

function tableOf({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : ' †';
    return `| \`${name}\`${optional} | ${typeOf(schema)} | ${schema.description ?? ''} |`;
  });
  return ['| Field | Type | |', '| --- | --- | --- |', ...rows].join('\n');
}

function recordsOf(records: Record<string, Schema>): string[] {
  return Object.entries(records)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, schema]) => {
      const fields = schema.properties ? tableOf(schema) : `${typeOf(schema)}.`;
      return `### ${name}\n\n${schema.description}\n\n${fields}`;
    });
}
