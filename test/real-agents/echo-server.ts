// An MCP server that an agent starts: its only tool returns its argument.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'echo', version: '1.0.0' });
server.registerTool(
  'say_again',
  { description: 'Says a text again', inputSchema: { text: z.string() } },
  ({ text }) => ({ content: [{ type: 'text', text: `again: ${text}` }] }),
);
await server.connect(new StdioServerTransport());
