import { z } from 'zod';
import { endpoint } from './endpoint.ts';

/** Why a tool failed, as its caller sees it. */
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

export const toolEnvelope = z
  .union([
    z.looseObject({ ok: z.literal(true), result: z.record(z.string(), z.unknown()) }),
    z.looseObject({
      ok: z.literal(false),
      error: z.looseObject({ code: z.enum(toolErrorCodes), message: z.string() }),
    }),
  ])
  .meta({ id: 'ToolEnvelope', description: 'What a tool gave, or why it failed.' });
export type ToolEnvelope = z.output<typeof toolEnvelope>;

const toolInfo = z.looseObject({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of its args.'),
  output_schema: z
    .record(z.string(), z.unknown())
    .describe('JSON Schema of the envelope where it succeeds.'),
  annotations: z
    .looseObject({
      title: z.string(),
      readOnlyHint: z.boolean(),
      destructiveHint: z.boolean(),
      idempotentHint: z.boolean(),
      openWorldHint: z.boolean(),
    })
    .describe('As in MCP: what a client may tell its user before it calls the tool.'),
});
export type ToolInfo = z.output<typeof toolInfo>;

export const getCapabilities = endpoint({
  method: 'GET',
  path: '/v1/mcp/capabilities',
  summary: 'The tools that sessions may call just now',
  access: 'gateway',
  response: z
    .looseObject({
      namespaces: z.array(z.looseObject({ name: z.string(), tools: z.array(toolInfo) })),
      cadreTeamManagePermissions: z.looseObject({
        non_lead_can_add_members: z.boolean(),
        non_lead_can_remove_members: z.boolean(),
      }),
      cadreTeamModelPresets: z.array(
        z.looseObject({
          name: z.string(),
          provider: z.string(),
          model: z.string().nullable(),
          thinking_effort: z.string().nullable(),
        }),
      ),
    })
    .meta({ id: 'Capabilities', description: 'The tools of the gateway, and what shapes them.' }),
});

export const invokeTool = endpoint({
  method: 'POST',
  path: '/v1/mcp/invoke',
  summary: 'Call a tool as a session; what the tool refuses is in the envelope',
  access: 'gateway',
  bodyLimit: 64 * 1024,
  body: z.strictObject({
    tool_name: z.string().nullish(),
    toolName: z.string().nullish().describe('The same as tool_name.'),
    caller_agent_id: z.string().nullish().describe('The session that calls.'),
    callerAgentId: z.string().nullish().describe('The same as caller_agent_id.'),
    invocation_id: z
      .string()
      .nullish()
      .describe('Within 24 h the same one of the same caller gives the same answer again.'),
    invocationId: z.string().nullish().describe('The same as invocation_id.'),
    namespace: z.string().nullish().describe('Where given, the one that the tool is of.'),
    args: z.record(z.string(), z.unknown()).nullish(),
  }),
  response: toolEnvelope,
  errors: ['not_found'],
});
