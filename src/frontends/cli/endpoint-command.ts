import { Option } from 'commander';
import { z } from 'zod';
import type { BodyInputOf, Endpoint, ResponseOf } from '../../api/endpoint.ts';
import type { CallInput } from '../../client/client.ts';
import { usageError } from '../../api/errors.ts';
import { oneLine } from '../../core/lib/plain.ts';
import { choicesOf } from './choices.ts';
import { command, type CommandEntry, declared, type Parameter, type Register } from './command.ts';
import type { Layout } from './layout.ts';
import { listOptions, recordOptions } from './output-options.ts';
import { canAsk, clientAction, type CommandContext, type CommandIo } from './command-io.ts';

/** A command that calls one endpoint. */
export interface EndpointCommand<E extends Endpoint> extends Omit<CommandEntry, 'parameters'> {
  /** Whether it prints a list, and takes the options of lists. A `print` by `listOf` makes it one in any case. */
  isList?: boolean;
  endpoint: E;
  /** The arguments and options. The value of a line is passed on in the field with the name of the flag or argument. */
  parameters?: readonly (string | EndpointParameter<E>)[];
  /** Fields that no parameter sets. `options` has the values of all options, by the names that commander gives them. */
  fields?(options: Options): Partial<Fields<E>>;
  /** The document for `--json`; without it, the answer. */
  document?(answer: ResponseOf<E>, call: Call): unknown;
  /** The text for people, printed without `--json`. */
  print: (answer: ResponseOf<E>, call: Call) => string;
  /** A remark on an empty list. */
  empty?: string;
  /** The question on a terminal before the request, with the text of the first argument; --yes answers it. */
  confirm?: (reference: string) => string;
  /** Runs after the answer was printed, for the exit code and for notes on stderr. */
  after?(answer: ResponseOf<E>, io: CommandIo): void;
}

/** An argument or an option, which sets fields of the request. */
export interface EndpointParameter<E extends Endpoint> extends Parameter {
  /**
   * The field that gets the value unchanged; null: no field does. Default: the one with the name of the flag or argument. If
   * its schema is an enum, the parameter has its values as choices.
   */
  field?: keyof Fields<E> | null;
  /** The fields for a value that is not passed on unchanged. Throws an AppError for a wrong value. */
  read?(value: Value, reading: Reading): Partial<Fields<E>> | Promise<Partial<Fields<E>>>;
  /** The fields where the command line has no value for the parameter. */
  absent?(reading: Reading): Promise<Partial<Fields<E>>>;
}

/** All fields of an endpoint's path, query and body: no endpoint has the same name in two of them. */
export type Fields<E extends Endpoint> = Inputs<E['params']> &
  Inputs<E['query']> &
  (BodyInputOf<E> extends null | Record<string, never> ? unknown : BodyInputOf<E>);
type Inputs<S extends Record<string, z.ZodType>> = { [K in keyof S]: z.input<S[K]> };

type Value = string | number | boolean | string[] | undefined;
type Options = Readonly<Record<string, Value>>;

/** The context of `read` and `absent`; `fields` are those that earlier parameters have set. */
export interface Reading extends Pick<CommandContext, 'io' | 'client' | 'global'> {
  /** The values of all options, by the names that commander gives them. */
  options: Options;
  fields: Readonly<Record<string, unknown>>;
}

/** A call that was answered at `now`, in Unix milliseconds, and how its answer is shown to people. */
export interface Call {
  layout: Layout;
  fields: Readonly<Record<string, unknown>>;
  options: Options;
  now: number;
}

export function endpointCommand<E extends Endpoint>(entry: EndpointCommand<E>): Register {
  const { name, endpoint } = entry;
  const parameters = (entry.parameters ?? []).map((one) => completed(one, endpoint));
  const attributes = parameters.map((one) => attributeOf(declared(one)));
  const isList = entry.isList === true || 'isList' in entry.print;
  const isRecord = name === 'show' || name === 'get';
  const action = async (
    { io, client, global, show, note, layout }: CommandContext,
    ...typed: [...Value[], Options]
  ) => {
    const options = typed.pop() as Options;
    const operands = typed as Value[];
    const [reference] = operands;
    const values = attributes.map((one) => (one === null ? operands.shift() : options[one]));
    const fields: Record<string, unknown> = { ...entry.fields?.(options) };
    for (const [at, one] of parameters.entries())
      Object.assign(
        fields,
        await fieldsOf(one, values[at], { io, client, global, options, fields }),
      );
    if (entry.confirm) await confirm(io, options, entry.confirm(oneLine(String(reference))));
    const { value: answer, headers } = await client.ask(endpoint, inputOf(endpoint, fields));
    const call = { fields, options, now: io.clock.now(), layout };
    const document = entry.document ? entry.document(answer, call) : answer;
    show(document, () => entry.print(answer, call));
    if (entry.empty !== undefined && Array.isArray(answer) && answer.length === 0)
      note(entry.empty);
    if (!global.json && headers['x-next-cursor'] !== undefined && Array.isArray(answer))
      io.stderr.write(`cadre: ${moreText(answer.length, parameters)}\n`);
    entry.after?.(answer, io);
  };
  return command({
    ...entry,
    parameters: [
      ...parameters,
      ...(entry.confirm ? ['--yes  Skip the confirmation on a terminal'] : []),
      ...(isList ? listOptions : isRecord ? recordOptions : []),
    ],
    action: (io) => clientAction(io, action),
  });
}

/** The name that commander gives to an option; null for an argument. */
function attributeOf(one: ReturnType<typeof declared>): string | null {
  return one instanceof Option ? one.attributeName() : null;
}

/** The largest limit of a list. */
const MAX_LIMIT = 500;

/** The remark on a list that has more records than are shown. */
function moreText(shown: number, parameters: readonly Parameter[]): string {
  const more = `the first ${shown} are shown, and more exist`;
  const hasLimit = parameters.some(({ line }) => line.includes('--limit'));
  if (!hasLimit) return more;
  return shown < MAX_LIMIT
    ? `${more}: pass --limit ${MAX_LIMIT}`
    : `${more}: use the filters of the command`;
}

/** Asks before a request that cannot be taken back. Without a terminal nobody is asked. Throws `usage` for no. */
async function confirm(io: CommandIo, { yes }: Options, question: string): Promise<void> {
  if (yes === true || !canAsk(io)) return;
  const { askYes } = await import('./choose.ts');
  if (await askYes(io, `${question} [y/N] `)) return;
  throw usageError('not confirmed: nothing was changed');
}

/** A parameter with the field that it sets and the choices of that field. Throws for a field that the endpoint lacks. */
function completed<E extends Endpoint>(
  parameter: string | EndpointParameter<E>,
  endpoint: E,
): EndpointParameter<E> {
  const given = typeof parameter === 'string' ? { line: parameter } : parameter;
  const { line, field = given.read ? null : fieldIn(line) } = given;
  const shapes: Record<PropertyKey, unknown> = {
    ...endpoint.params,
    ...endpoint.query,
    ...bodyShape(endpoint),
  };
  if (field !== null && !(field in shapes))
    throw new Error(`${endpoint.path} has no field for the parameter ${line}`);
  return {
    ...given,
    field,
    choices: field === null ? null : choicesOf(shapes[field]),
  };
}

/** The field with the name of a flag or an argument. */
function fieldIn(line: string): string {
  const [, flag, operand = ''] = /^(?:.*?--([\w-]+)|.([\w-]+))/.exec(line) ?? [];
  return (flag ?? operand).replaceAll('-', '_');
}

async function fieldsOf<E extends Endpoint>(
  parameter: EndpointParameter<E>,
  value: Value,
  reading: Reading,
): Promise<object | undefined> {
  if (value === undefined) return parameter.absent?.(reading);
  if (parameter.read) return parameter.read(value, reading);
  return parameter.field == null ? undefined : { [parameter.field]: value };
}

/** Each field where the endpoint has it; one that is undefined is left out. */
function inputOf<E extends Endpoint>(
  endpoint: E,
  fields: Readonly<Record<string, unknown>>,
): CallInput<E> {
  const those = (shape: object) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => name in shape && value !== undefined),
    );
  const { params, query, body } = endpoint;
  const input = { params: those(params), query: those(query) };
  return (body ? { ...input, body: those(bodyShape(endpoint)) } : input) as CallInput<E>;
}

function bodyShape({ body }: Endpoint): Record<string, z.ZodType> {
  return body instanceof z.ZodObject ? body.shape : {};
}
