import { z } from 'zod';

const name = z
  .string()
  .regex(
    /^(?!cadre)[^\p{C}]{1,64}$/iu,
    'must have 1 to 64 printable characters and not start with "cadre"',
  )
  .describe(
    'Name of the server as agents see it, unique in the session. Names that start with `cadre` are reserved.',
  );
const secrets = z.record(z.string().min(1), z.string()).optional().meta({
  description:
    'Values by name. They may be secrets and are never shown in responses, events or logs.',
});

const byStdio = z
  .strictObject({
    type: z.literal('stdio'),
    name,
    command: z.string().min(1).describe("Program on the server's machine."),
    args: z.array(z.string()).optional(),
    env: secrets,
  })
  .meta({ id: 'McpServerByStdio', description: 'An MCP server that the agent starts.' });

const byAddress = z
  .strictObject({
    type: z.enum(['http', 'sse']),
    name,
    url: z.url({ protocol: /^https?$/ }),
    headers: secrets,
  })
  .meta({ id: 'McpServerByAddress', description: 'An MCP server that is already running.' });

export const mcpServer = z.discriminatedUnion('type', [byStdio, byAddress]).meta({
  id: 'McpServer',
  description: 'An MCP server that a client provides for the agent of a session.',
  discriminator: {
    propertyName: 'type',
    mapping: {
      stdio: '#/components/schemas/McpServerByStdio',
      http: '#/components/schemas/McpServerByAddress',
      sse: '#/components/schemas/McpServerByAddress',
    },
  },
});
export type McpServer = z.output<typeof mcpServer>;

export const mcpServers = z
  .array(mcpServer)
  .max(32)
  .refine((servers) => new Set(servers.map((one) => one.name)).size === servers.length, {
    error: 'has two servers with the same name',
  })
  .describe(
    'MCP servers for the agent of the session, in addition to the MCP server of cadre. The agent gets them at each start. They are stored until the session is closed and are never shown.',
  );
