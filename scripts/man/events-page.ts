import { z } from 'zod';
import type { Kind } from '../../src/api/event-kinds/kind.ts';
import { eventGroups, eventKinds, kinds } from '../../src/api/events.ts';
import { bold, escaped, page, type Page, prose, tagged } from './roff.ts';

/** cadre-events(7): when each kind of event comes, and the fields of its payload. */
export function eventsPage(edition: Pick<Page, 'version' | 'date'>): string {
  const about = 'events of cadre, by kind';
  return page({ name: 'cadre-events', section: 7, about, ...edition }, [
    ['Description', description],
    ...eventGroups.map((group) => [`Events of ${group}`, groupText(group)] as const),
    ['See also', `${bold('cadre')}(1),\n${bold('cadre-events')}(1)`],
  ]);
}

const description = [
  'The server writes every change as an event to one log. `cadre events tail` shows the log, and the server streams it.',
  'Each event is a record with `seq` (its sequence number in the log, increasing, with gaps), `id`, `kind`, `scope`, the ids of the records that it concerns, `created_at` (Unix milliseconds), `v` (the version of the payload) and `payload`, described below.',
  'Within v1, kinds and fields can be added, but are never changed or removed.',
]
  .map((text) => prose(text))
  .join('\n.PP\n');

function groupText(group: string): string {
  return eventKinds
    .filter((kind) => kind.startsWith(`${group}.`))
    .map((kind) => kindText(kind, kinds[kind]))
    .join('\n');
}

function kindText(name: string, { when, payload }: Kind): string {
  const fields = Object.entries(payload).map(([field, schema]) => fieldText(field, schema));
  return [`.SS ${escaped(name)}`, prose(when), ...fields].join('\n');
}

function fieldText(name: string, schema: z.ZodType): string {
  const { description = '' } = z.toJSONSchema(schema) as { description?: string };
  return tagged(bold(name), description);
}
