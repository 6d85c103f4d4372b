import { z } from 'zod';

const name = z
  .string()
  .regex(
    /^(?!cadre)[^\p{C}]{1,64}$/iu,
    'has to be 1 to 64 printable characters, and not to begin with "cadre"',
  )
  .describe(
    "What agents call it; each server of a session has another one. Names that begin with `cadre` are cadre's own.",
  );
const secrets = z
  .record(z.string().min(1), z.string())
  .optional()
  .describe('By name. They may be secrets: no answer, event or log shows them.');

const byStdio = z
  .strictObject({
    type: z.literal('stdio'),
    name,
    command: z.string().min(1).describe('A program on the machine of the server.'),
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
  .meta({ id: 'McpServerByAddress', description: 'An MCP server that runs already.' });

/** An MCP server of a client, for the agent of a session. */
export const mcpServer = z.discriminatedUnion('type', [byStdio, byAddress]).meta({
  id: 'McpServer',
  description: 'An MCP server of a client, for the agent of a session.',
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

/** The MCP servers of a session. */
export const mcpServers = z
  .array(mcpServer)
  .max(32)
  .refine((servers) => new Set(servers.map((one) => one.name)).size === servers.length, {
    error: 'has two servers of one name',
  })
  .describe(
    'MCP servers that the agent of the session is given beside that of cadre, whenever it starts. They are kept until the session is closed, and never shown.',
  );
