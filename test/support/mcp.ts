import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect } from 'vitest';

/** Starts an MCP server as an agent does, and connects to it. */
export async function withToolServer(
  start: { command: string; args: string[]; env: Record<string, string> },
  use: (client: McpClient) => Promise<void>,
): Promise<void> {
  const client = new McpClient({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport(start));
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

/** Calls a tool; resolves with its envelope. */
export async function callTool(client: McpClient, name: string, args: object = {}) {
  const { content, isError } = await client.callTool({ name, arguments: { ...args } });
  const [{ text }] = content as [{ text: string }];
  const envelope = JSON.parse(text) as {
    ok: boolean;
    result: { process: { session_id: string }; stdout_tail: string };
    error: { code: string; message: string };
  };
  expect(isError).toBe(!envelope.ok);
  return envelope;
}
