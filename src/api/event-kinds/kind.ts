import type { z } from 'zod';

/** The subject of an event. Turns, messages, tool calls and approvals belong to the scope `session`. */
export type EventScope = 'runtime' | 'session' | 'process' | 'worktree' | 'team';

/**
 * `delta`: reports an item or the output of a process while it grows. `end`: closes an item with its complete content,
 * or a process.
 */
export type EventPart = 'delta' | 'end' | null;

export type PayloadFields = Record<string, z.ZodType>;

/** The values of the fields of a payload. */
export type ValuesOf<Fields extends PayloadFields> = z.output<z.ZodObject<Fields>>;

/** A field of a payload, or of a record in it. */
type LargeField<Fields> = (keyof Fields & string) | `${keyof Fields & string}.${string}`;

/** A kind of event. The log, the client, openapi.yaml and docs/events.md use this description. */
export interface Kind<
  Scope extends EventScope = EventScope,
  Fields extends PayloadFields = PayloadFields,
  Large extends string = string,
  Part extends EventPart = EventPart,
> {
  scope: Scope;
  /** The condition for the event: one or more sentences that start with "Emitted when". */
  when: string;
  payload: Fields;
  /**
   * The fields that are lists or contain values of any shape; `record.field` for a field of a record. If a payload is
   * still longer than 256 KiB after its texts were cut (`truncated: true`), it omits each of these fields that is longer
   * than 1 KiB. All other fields are always present, so that a client can fetch the rest by id.
   */
  large: readonly Large[];
  /** The fields of `large` that are complete or missing. Their texts are never cut because users decide by them. */
  exact: readonly Large[];
  part: Part;
  /** A payload that was sent once. */
  example: ValuesOf<Fields>;
}

/** Returns a function that describes kinds of a scope. Default: no large fields and no part. */
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
