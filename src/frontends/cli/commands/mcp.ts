import type { ResponseOf } from '../../../api/endpoint.ts';
import { endpoints } from '../../../api/index.ts';
import { usageError } from '../../../api/errors.ts';
import { newUuid } from '../../../core/lib/ids.ts';
import { clientCommand, repeatable } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { sessionId } from '../find.ts';
import { table } from '../output.ts';
import { listOptions } from '../output-options.ts';
import { jsonFor } from '../command-io.ts';
import { installCommands } from './mcp-install.ts';
import { mcpGroup, serveCommand } from './mcp-serve.ts';

export const mcpCommands = mcpGroup([
  ...installCommands,
  serveCommand,
  clientCommand({
    name: 'tools',
    description: 'List the tools of cadre that agents can call',
    parameters: listOptions,
    run: async ({ client, show, layout }) => {
      const found = await client.call(endpoints.getCapabilities, {});
      const rows = found.namespaces.flatMap(({ tools }) =>
        tools.map(({ name, description }) => [name, description]),
      );
      show(
        found,
        () => table(['TOOL', 'DESCRIPTION'], rows, layout),
        () => rows.map(([name = '']) => name),
      );
    },
  }),
  clientCommand({
    name: 'call',
    description: 'Call a tool of cadre for a session, and print the complete response as JSON',
    parameters: [
      '<tool>  Name of the tool (list the names with cadre mcp tools)',
      {
        line: '--as <session>  Session on whose behalf the tool is called (id, last 6 or more characters of the id, or title)',
        required: true,
      },
      repeatable(
        '--arg <name=value>  Argument of the tool: text if the tool expects text, otherwise JSON (repeat the option for more arguments)',
      ),
      { line: '--args <json>  All arguments of the tool, as one JSON object', conflicts: 'arg' },
    ],
    run: async ({ client, io }, tool: string, options: CallOptions) => {
      const properties =
        options.arg.length === 0
          ? {}
          : propertiesOf(await client.call(endpoints.getCapabilities, {}), tool);
      const body = {
        tool_name: tool,
        caller_agent_id: await sessionId(client, options.as),
        invocation_id: newUuid(),
        args:
          options.args === undefined ? fromPairs(options.arg, properties) : fromJson(options.args),
      };
      const envelope = await client.call(endpoints.invokeTool, { body }, io.interrupted());
      io.stdout.write(`${jsonFor(io, envelope, 2)}\n`);
      if (!envelope.ok) io.exit(exitCodes.failed);
    },
  }),
]);

interface CallOptions {
  as: string;
  arg: string[];
  args?: string;
}

type Properties = Readonly<Record<string, unknown>>;

/** The JSON Schemas of a tool's arguments; none for an unknown tool, which the server then refuses. */
function propertiesOf(
  { namespaces }: ResponseOf<typeof endpoints.getCapabilities>,
  tool: string,
): Properties {
  const found = namespaces.flatMap(({ tools }) => tools).find(({ name }) => name === tool);
  return (found?.input_schema.properties ?? {}) as Properties;
}

function fromPairs(pairs: readonly string[], properties: Properties): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usageError(`invalid --arg "${pair}": expected name=value`);
      const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
      return [name, takesText(properties[name]) ? text : readValue(text)];
    }),
  );
}

function takesText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  if ('type' in schema && [schema.type].flat().includes('string')) return true;
  const others = 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return others.some(takesText);
}

/** The value of JSON, else the text itself. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function fromJson(text: string): Record<string, unknown> {
  const value = readValue(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw usageError(`invalid --args "${text}": expected a JSON object`);
}
