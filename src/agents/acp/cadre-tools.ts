import { z } from 'zod';
import type { ToolName } from '../../api/tool-names.ts';
import { type ToolDescription, toolNamespaces } from '../../api/tools.ts';
import {
  INPUT_FIELD,
  MAX_META_DEPTH,
  mergeCalls,
  objectIn,
  type ReportedCall,
} from './reported-call.ts';
import { textIn } from './tool-call.ts';
import type { Quirks } from './catalogue-entry.ts';
import type { PermissionRequest } from './permission.ts';
import type { McpServer } from '../../api/mcp-servers.ts';
import { type AgentTools, unavailable } from '../provider.ts';
import type { AgentAbilities } from './process.ts';
import { anyList, isBlank } from '../lenient.ts';

const TOOL_SERVER = 'cadre';

const offered = new Map<string, ToolDescription>(
  Object.values(toolNamespaces).flatMap((tools) => Object.entries(tools)),
);

/** The quirk of an agent whose request for an MCP tool has no input, and as its title the name of the tool. */
const TITLE_IS_TOOL = 'title_is_tool';

/**
 * Reports whether a permission request is about one of cadre's own tools. The gateway decides about these, so nobody has
 * to be asked for them here. Only what the program of an agent states counts: the name of an offered tool with its server,
 * the id of the call, and, of an agent that is known to title calls by their tools, the title. The input of the call has to be one of that tool: a
 * request that shows another command, path or change is one for something else, whatever it calls itself.
 */
export function isCadreTool(
  { call: asked, raw }: PermissionRequest,
  known: ReportedCall | undefined,
  quirks: Quirks,
): boolean {
  const call = mergeCalls(known ?? {}, asked);
  if (call.kind === 'edit' || call.kind === 'delete' || call.kind === 'move') return false;
  const names = [known, asked].flatMap((one) => (one ? namesIn(one) : []));
  // A program that names another tool as well means that one.
  if (names.length > 0) return names.every((name) => isFor(ownTool(name), call, known));
  if (mcpApproval.safeParse(raw).success) return ownCall.safeParse(call.rawInput).success;
  if ((call.kind ?? 'other') !== 'other') return false;
  if (isFor(toolOfCallId(call.toolCallId), call, known)) return true;
  return Object.hasOwn(quirks, TITLE_IS_TOOL) && hasOwnTitle(call, asked, known);
}

/** Agents join server and tool by one or two signs, and some put `mcp` in front. */
const qualified = new RegExp(`^(?:mcp[-_./:]{1,2})?${TOOL_SERVER}[-_./:]{1,2}(\\w+)$`);

/** The offered tool of a qualified name; null for any other name. */
function ownTool(name: string): ToolName | null {
  return offeredName(qualified.exec(name)?.[1]);
}

function offeredName(name: unknown): ToolName | null {
  return typeof name === 'string' && offered.has(name) ? (name as ToolName) : null;
}

const record = z.record(z.string(), z.unknown());

/** The names of the tool that a message about a call states: in the field of the protocol, or anywhere in `_meta`. */
function namesIn({ name, _meta }: ReportedCall): string[] {
  return [...(typeof name === 'string' ? [name] : []), ...metaNames(_meta)];
}

const TOOL_FIELD = /^(mcp_?)?tool_?name$/i;

function metaNames(meta: unknown, depth = 0): string[] {
  if (typeof meta !== 'object' || meta === null || depth > MAX_META_DEPTH) return [];
  const fields = Object.entries(meta);
  const isOfServer = fields.some(([, value]) => value === TOOL_SERVER);
  return fields.flatMap(([field, value]: [string, unknown]) => {
    if (INPUT_FIELD.test(field)) return [];
    if (typeof value !== 'string' || !TOOL_FIELD.test(field)) return metaNames(value, depth + 1);
    // Beside the name of its server a tool may have its own name alone.
    return [isOfServer && offered.has(value) ? `${TOOL_SERVER}_${value}` : value];
  });
}

/** Reports whether a call that claims to be one of a tool shows nothing that this tool would not do. */
function isFor(
  tool: ToolName | null,
  call: ReportedCall,
  known: ReportedCall | undefined,
): boolean {
  if (tool === null) return false;
  const parts = [known, call].flatMap((one) => anyList.parse(one?.content));
  if (parts.some((part) => changing.safeParse(part).success)) return false;
  if (anyList.parse(call.locations).length > 0) return false;
  const inputs = [call.rawInput, ...inputsOf(known), ...inputsOf(call)];
  return inputs.every((input) => isBlank(input) || isInputOf(tool, objectIn(input) ?? input));
}

/** The inputs that a message shows as its content: some agents send them there alone, in JSON. */
function inputsOf(call: ReportedCall | undefined): unknown[] {
  return anyList.parse(call?.content).flatMap((part) => objectIn(textIn(part)) ?? []);
}

const changing = z.looseObject({ type: z.enum(['diff', 'terminal']) });

/** Some agents put the arguments beside the names of server and tool. */
function isInputOf(tool: ToolName, input: unknown): boolean {
  const { args } = offered.get(tool) as ToolDescription;
  if (args.safeParse(input).success) return true;
  const { server, tool: named, arguments: inner, ...others } = record.safeParse(input).data ?? {};
  const isNamed = server === TOOL_SERVER && offeredName(named) === tool;
  return isNamed && isBlank(others) && (isBlank(inner) || args.safeParse(inner).success);
}

/** The program says that the call is one of an MCP server: its input then names server and tool. */
const mcpApproval = z.looseObject({
  _meta: z.looseObject({ is_mcp_tool_approval: z.literal(true) }),
});
const ownCall = z.union([
  z.looseObject({
    server: z.literal(TOOL_SERVER),
    tool: z.string().refine((name) => offered.has(name)),
  }),
  // A request about several calls at once names only their server.
  z.looseObject({ serverName: z.literal(TOOL_SERVER) }),
]);

/** The offered tool with which the id of a call begins, as some agents have it, before two underscores. */
function toolOfCallId(id: unknown): ToolName | null {
  if (typeof id !== 'string') return null;
  return offeredName(
    [...offered.keys()].find((name) => id.startsWith(`mcp_${TOOL_SERVER}_${name}__`)),
  );
}

/** Every title of the call is the name of one tool, and none of its texts can have become the title. */
function hasOwnTitle(
  call: ReportedCall,
  asked: ReportedCall,
  known: ReportedCall | undefined,
): boolean {
  const titles = [known, asked].flatMap((one) => one?.title ?? []);
  const [title, ...others] = known && known.title === undefined ? [] : titles;
  if (typeof title !== 'string' || others.some((one) => one !== title)) return false;
  if (!isBlank(call.rawInput) || !isFor(ownTool(title), call, known)) return false;
  const inputs = [known, asked].flatMap((one) => inputsOf(one));
  return !JSON.stringify(inputs).includes(title);
}

/**
 * Returns the MCP servers of a session: the server of cadre, and the servers of the client. Throws {@link
 * ProviderError} for a server that the agent does not support.
 */
export function mcpServersOf(tools: AgentTools, takes: AgentAbilities['mcp']): object[] {
  const { sidecar, others } = tools;
  if (takes.tools) tools.renew();
  else tools.decline();
  const { env, ...start } = sidecar;
  const own = { name: TOOL_SERVER, ...start, env: pairsOf(env) };
  return [...(takes.tools ? [own] : []), ...others.map((server) => entryOf(server, takes))];
}

function entryOf(server: McpServer, takes: AgentAbilities['mcp']): object {
  const { type, name } = server;
  if (type === 'stdio') {
    const { command, args = [], env = {} } = server;
    return { name, command, args, env: pairsOf(env) };
  }
  if (!takes[type])
    throw unavailable(
      `acp: this agent does not support MCP servers over ${type}: open the session without MCP server "${name}"`,
    );
  const { url, headers = {} } = server;
  return { type, name, url, headers: pairsOf(headers) };
}

function pairsOf(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
