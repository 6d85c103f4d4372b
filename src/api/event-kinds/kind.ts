import type { z } from 'zod';

/** What an event is about; a session's turns, messages, tools and approvals are the session's. */
export type EventScope = 'runtime' | 'session' | 'process' | 'worktree' | 'team';

/**
 * `delta`: tells of an item, or of a process's output, while it grows. `end`: closes an item with its whole content, or
 * a process.
 */
export type EventPart = 'delta' | 'end' | null;

export type PayloadFields = Record<string, z.ZodType>;

/** The values of the fields of a payload. */
export type ValuesOf<Fields extends PayloadFields> = z.output<z.ZodObject<Fields>>;

/** A field of a payload, or of a record in it. */
type LargeField<Fields> = (keyof Fields & string) | `${keyof Fields & string}.${string}`;

/** A kind of event: everything that log, client, openapi.yaml and docs/events.md know of it. */
export interface Kind<
  Scope extends EventScope = EventScope,
  Fields extends PayloadFields = PayloadFields,
  Large extends string = string,
  Part extends EventPart = EventPart,
> {
  scope: Scope;
  /** When it comes: one or more sentences. */
  when: string;
  /** The fields of its payload. */
  payload: Fields;
  /**
   * The fields that are lists, or hold values of any shape; `record.field` for a field of a record. A payload above 256
   * KiB (`truncated: true`) whose texts were cut and that is still too long is without those of them that are longer
   * than 1 KiB. All other fields are always there, so that a client can fetch the rest by the ids.
   */
  large: readonly Large[];
  /** Those of `large` that are whole or missing: their texts are never cut, because people decide by them. */
  exact: readonly Large[];
  part: Part;
  /** A payload as it was sent once. */
  example: ValuesOf<Fields>;
}

/** Gives the function that describes kinds of a scope. What is not said is the usual: nothing large, no part. */
export function describeKinds<Scope extends EventScope>(scope: Scope) {
  return <
    Fields extends PayloadFields,
    const Large extends LargeField<Fields> = never,
    const Part extends EventPart = null,
  >(described: {
    when: string;
    payload: Fields;
    large?: readonly Large[];
    exact?: readonly NoInfer<Large>[];
    part?: Part;
    example: NoInfer<ValuesOf<Fields>>;
  }): Kind<Scope, Fields, Large, Part> => ({
    scope,
    large: [],
    exact: [],
    part: null as Part,
    ...described,
  });
}
