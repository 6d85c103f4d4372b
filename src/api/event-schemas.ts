import { z } from 'zod';
import { timestamp } from './common.ts';
import {
  type EventKind,
  eventKinds,
  isEventKind,
  kinds,
  type RuntimeEventRecord,
  sequenceNumber,
} from './events.ts';
import type { EventScope, Kind } from './event-kinds/kind.ts';

/** An event, of whose kind, scope and payload more is said. */
const eventOf = <Name extends z.ZodType>({
  kind,
  scope,
  payload,
}: {
  kind: Name;
  scope: z.ZodType;
  payload: z.ZodType;
}) =>
  z.looseObject({
    seq: sequenceNumber,
    id: z.string(),
    kind,
    scope,
    session_id: z.string().nullable(),
    turn_id: z.string().nullable(),
    process_id: z.string().nullable(),
    worktree_id: z.string().nullable(),
    team_id: z.string().nullable(),
    created_at: timestamp,
    v: z.int().describe('Version of the payload.'),
    payload,
  });

const whenCut = ['truncated', 'total_bytes'];

/** The payload of a kind as it is sent: complete, or cut because it was too long. */
export function payloadSchema({ payload, large }: Kind) {
  const fields = Object.entries(payload).map(([name, schema]) => [
    name,
    large.includes(name) ? schema.optional() : withoutLarge(schema, fieldsIn(name, large)),
  ]);
  const needed = neededIn(payload, large);
  const isWhole = (sent: Record<string, unknown>) =>
    sent.truncated === true || needed.every(({ path }) => isAt(sent, path));
  return z
    .looseObject({
      ...(Object.fromEntries(fields) as Kind['payload']),
      truncated: z.literal(true).optional().meta({
        description: 'Present if the payload was longer than 256 KiB. Its long texts are cut.',
      }),
      total_bytes: z.int().optional().meta({
        description:
          'Present with `truncated`: size in bytes of the longest text that was cut, or else of the whole payload.',
      }),
    })
    .refine(isWhole, { error: `lacks ${large.join(' or ')} and is not truncated` })
    .meta(
      large.length === 0
        ? {}
        : { allOf: [{ anyOf: [requirement(needed), { required: whenCut }] }] },
    );
}

/** The fields of a record that `record.field` names. */
function fieldsIn(record: string, large: readonly string[]): string[] {
  const start = `${record}.`;
  return large.filter((one) => one.startsWith(start)).map((one) => one.slice(start.length));
}

/** The schemas of records in cut events, by the schema of the whole record: several kinds share a component. */
const cutRecords = new Map<z.ZodType, z.ZodType>();

function withoutLarge(schema: z.ZodType, fields: readonly string[]): z.ZodType {
  const known = cutRecords.get(schema);
  if (fields.length === 0 || known) return known ?? schema;
  const record = schema as z.ZodObject;
  const { id, description } = z.globalRegistry.get(schema) ?? {};
  const lacking = fields.map((field) => `\`${field}\``).join(', ');
  const lackable = Object.fromEntries(fields.map((field) => [field, true])) as Record<string, true>;
  const cut = record.partial(lackable as never).meta({
    id: `Sent${id}`,
    description: `${description} If the event is \`truncated\`, it may lack ${lacking}.`,
  });
  cutRecords.set(schema, cut);
  return cut;
}

interface Needed {
  path: readonly string[];
}

/** Returns the large fields that every payload that was not cut contains. */
function neededIn(payload: Kind['payload'], large: readonly string[]): Needed[] {
  return large
    .map((one) => ({ path: one.split('.') }))
    .filter(({ path: [name = '', field] }) => {
      const schema = payload[name];
      const own = field === undefined ? schema : (schema as z.ZodObject).shape[field];
      return !(own instanceof z.ZodOptional);
    });
}

function isAt(value: unknown, [first, ...rest]: readonly string[]): boolean {
  if (first === undefined) return true;
  if (typeof value !== 'object' || value === null || !(first in value)) return false;
  return isAt((value as Record<string, unknown>)[first], rest);
}

/** Returns the same condition as JSON Schema. */
function requirement(needed: readonly Needed[]): object {
  const names = [...new Set(needed.map(({ path: [name = ''] }) => name))];
  const nested = names.flatMap((name) => {
    const fields = needed.flatMap(({ path }) => (path[0] === name ? path.slice(1) : []));
    return fields.length > 0 ? [[name, { required: fields }]] : [];
  });
  return {
    required: names,
    ...(nested.length > 0 ? { properties: Object.fromEntries(nested) as object } : {}),
  };
}

/** Returns the name of the openapi.yaml component that describes the events of a kind. */
export function componentOf(kind: EventKind): string {
  const words = kind.split(/[._]/);
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Event`;
}

function describedEvent(): z.ZodType {
  const ofKinds = eventKinds.map((kind) =>
    eventOf({
      kind: z.literal(kind),
      scope: z.literal(kinds[kind].scope),
      payload: payloadSchema(kinds[kind]),
    }).meta({ id: componentOf(kind), description: kinds[kind].when }),
  );
  const mapping = eventKinds.map((kind) => [kind, `#/components/schemas/${componentOf(kind)}`]);
  return z.discriminatedUnion('kind', ofKinds as [(typeof ofKinds)[0], ...typeof ofKinds]).meta({
    id: 'DescribedEvent',
    description: 'An event of a kind described here.',
    discriminator: { propertyName: 'kind', mapping: Object.fromEntries(mapping) as object },
  });
}

const scopes = ['runtime', 'session', 'process', 'worktree', 'team'] satisfies EventScope[];

function newerEvent(): z.ZodType {
  return eventOf({
    kind: z
      .string()
      .refine((kind) => !isEventKind(kind), { error: 'must not be a described kind' })
      .meta({ not: { enum: eventKinds } }),
    scope: z.enum(scopes),
    payload: z.record(z.string(), z.unknown()),
  }).meta({
    id: 'NewerEvent',
    description: 'An event of a kind that is not described here, from a newer server.',
  });
}

/** Created on first use: all commands load this module, but few check an event. */
export const runtimeEventRecord = z.lazy(
  () =>
    z.union([describedEvent(), newerEvent()]).meta({
      id: 'RuntimeEventRecord',
      description:
        'An event. An event belongs to each session, team and process whose id it contains. New event kinds are added within v1. Clients must ignore events of unknown kinds.',
    }),
  // Types and schemas are made from the same table; the compiler cannot follow the schemas, one for each kind.
) as z.ZodType<RuntimeEventRecord>;
