import { z } from 'zod';
import { toolNames } from '../../api/tool-names.ts';
import type { Quirk } from './catalogue-entry.ts';
import type { PermissionRequest } from './permission.ts';
import { mergeCalls, type ReportedCall } from './reported-call.ts';

/** The name that agents are given for the MCP server with cadre's tools. */
export const TOOL_SERVER = 'cadre';

/** The quirk of an agent whose request for an MCP tool has no input, and as its title the name of the tool. */
const TITLE_IS_TOOL = 'title_is_tool';

/**
 * Whether a permission request is about one of cadre's own tools. The gateway decides about these, so nobody has to be
 * asked for them here. Only what the program of an agent states counts: the name of the tool,
 * its server, the id of the call. A title is the model's own text in many agents, and so is the input of a tool.
 */
export function isOwnTool(
  { call: asked, raw }: PermissionRequest,
  known: ReportedCall | undefined,
  quirks: readonly Quirk[],
): boolean {
  const call = mergeCalls(known ?? {}, asked);
  if (call.kind === 'edit' || call.kind === 'delete' || call.kind === 'move') return false;
  const names = [known?.name, asked.name, ...metaNames(asked._meta)].filter(isText);
  // A program that names another tool as well means that one.
  if (names.length > 0) return names.every(isOwnName);
  if (mcpApproval.safeParse(raw).success) return ownCall.safeParse(call.rawInput).success;
  if (call.kind !== 'other') return false;
  return isOwnCallId(call.toolCallId) || (has(quirks, TITLE_IS_TOOL) && hasOwnTitle(asked));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

const record = z.record(z.string(), z.unknown());

/** The name of the tool in `_meta`, at its top or in the record of an agent. Some have it there instead of in `name`. */
function metaNames(meta: unknown): unknown[] {
  const top = record.safeParse(meta).data ?? {};
  const records = [top, ...Object.values(top).map((one) => record.safeParse(one).data ?? {})];
  return records.flatMap((one) => [one.toolName, one.tool_name]);
}

/** Agents join server and tool by one or two signs, and some put `mcp` in front. */
const qualified = new RegExp(`^(?:mcp[-_./:]{1,2})?${TOOL_SERVER}[-_./:]{1,2}(\\w+)$`);

function isOwnName(name: string): boolean {
  const [, tool] = qualified.exec(name) ?? [];
  return toolNames.some((one) => one === tool);
}

/** The program says that the call is one of an MCP server: its input then names server and tool. */
const mcpApproval = z.looseObject({
  _meta: z.looseObject({ is_mcp_tool_approval: z.literal(true) }),
});
const ownCall = z.union([
  z.looseObject({ server: z.literal(TOOL_SERVER), tool: z.enum(toolNames) }),
  // Of several calls at once it says only of which server they are.
  z.looseObject({ serverName: z.literal(TOOL_SERVER) }),
]);

/** Some agents begin the id of a call with the name of its tool and two underscores. */
function isOwnCallId(id: unknown): boolean {
  return isText(id) && toolNames.some((one) => id.startsWith(`mcp_${TOOL_SERVER}_${one}__`));
}

/** Without an input the title cannot be made of one. */
const withoutInput = z.looseObject({ title: z.string(), rawInput: z.strictObject({}) });

function hasOwnTitle(asked: ReportedCall): boolean {
  const { data } = withoutInput.safeParse(asked);
  return data !== undefined && isOwnName(data.title);
}

function has(quirks: readonly Quirk[], id: string): boolean {
  return quirks.some((one) => one.id === id);
}
