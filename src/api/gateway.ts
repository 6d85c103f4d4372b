import { z } from 'zod';
import { anyObject, component, optionalText } from './common.ts';
import { endpoint } from './endpoint.ts';

/** The error codes in the envelope of a tool call. */
export const toolErrorCodes = [
  'bad_request',
  'not_found',
  'unauthorized',
  'feature_disabled',
  'unsupported_provider_images',
  'unknown_model_preset',
  'conflict',
  'limit_reached',
  'backend_unavailable',
  'internal',
] as const;
export type ToolErrorCode = (typeof toolErrorCodes)[number];

const toolResult = component('ToolResult', 'The result of a successful tool call.', {
  ok: z.literal(true),
  result: z.record(z.string(), z.unknown()),
});

const toolFailure = component('ToolFailure', 'The envelope of a failed tool call.', {
  ok: z.literal(false),
  error: component('ToolError', 'The reason why a tool call failed.', {
    code: z.enum(toolErrorCodes),
    message: z.string(),
  }),
});

export const toolEnvelope = z.union([toolResult, toolFailure]).meta({
  id: 'ToolEnvelope',
  description: 'The result of a tool call, or the reason why it failed.',
});
export type ToolEnvelope = z.output<typeof toolEnvelope>;

/** The first part of the name of each tool. */
export const toolNamespaceNames = ['cadre_process', 'cadre_team'] as const;

const toolAnnotations = component(
  'ToolAnnotations',
  'MCP annotations: hints that a client can show to its user before it calls the tool.',
  {
    title: z.string(),
    readOnlyHint: z.boolean(),
    destructiveHint: z.boolean(),
    idempotentHint: z.boolean(),
    openWorldHint: z.boolean(),
  },
);

const toolInfo = component('ToolInfo', 'A tool with the schemas of its arguments and result.', {
  name: z.string(),
  title: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the arguments.'),
  output_schema: z
    .record(z.string(), z.unknown())
    .describe('JSON Schema of the envelope of a successful call.'),
  annotations: toolAnnotations,
});
export type ToolInfo = z.output<typeof toolInfo>;

const toolNamespace = component('ToolNamespace', 'A group of tools whose names share a prefix.', {
  name: z.string(),
  tools: z.array(toolInfo),
});

const modelPreset = component('ModelPreset', 'A configured model that can be selected by name.', {
  name: z.string(),
  provider: z.string(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  thinking_effort: z.string().nullable(),
  agent_mode: z.string().nullable(),
});

export const getCapabilities = endpoint('GET /v1/mcp/capabilities', {
  summary: 'List the tools that sessions can currently call',
  access: 'gateway',
  response: component(
    'Capabilities',
    'The tools of the gateway and the configuration that affects them.',
    {
      namespaces: z.array(toolNamespace),
      cadreTeamManagePermissions: z.looseObject({
        non_lead_can_add_members: z.boolean(),
        non_lead_can_remove_members: z.boolean(),
      }),
      cadreTeamModelPresets: z.array(modelPreset),
    },
  ),
});

/** JSON Schema: one of these spellings of a field must be present and not blank. zod cannot express this. */
const oneOf = (...names: string[]) => ({
  anyOf: names.map((name) => ({
    required: [name],
    properties: { [name]: { type: 'string', pattern: '\\S' } },
  })),
});

const invocation = z
  .strictObject({
    tool_name: z.string().nullish(),
    toolName: optionalText('Alias of tool_name.'),
    caller_agent_id: optionalText(
      "Session that makes the call. For a call without a session: the id of the caller's own `tools` token.",
    ),
    callerAgentId: optionalText('Alias of caller_agent_id.'),
    invocation_id: optionalText(
      'Id of the call. Within 24 h, a call of the same caller with the same id returns the stored result.',
    ),
    invocationId: optionalText('Alias of invocation_id.'),
    namespace: z.enum(toolNamespaceNames).nullish().meta({
      description: 'Namespace of the tool. If set, it must be the prefix of the tool name.',
    }),
    args: anyObject.nullish(),
  })
  .refine((body) => (body.tool_name ?? body.toolName) != null, {
    path: ['tool_name'],
    error: 'is needed',
  })
  .refine((body) => (body.caller_agent_id ?? body.callerAgentId) != null, {
    path: ['caller_agent_id'],
    error: 'is needed: the id of a session',
  })
  .meta({
    allOf: [oneOf('tool_name', 'toolName'), oneOf('caller_agent_id', 'callerAgentId')],
  });

export const invokeTool = endpoint('POST /v1/mcp/invoke', {
  summary:
    'Call a tool on behalf of a session; tool errors are returned in the envelope with status 200',
  access: 'gateway',
  bodyLimit: 64 * 1024,
  body: invocation,
  response: toolEnvelope,
  errors: ['not_found'],
});
