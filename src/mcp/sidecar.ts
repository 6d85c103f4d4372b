import type { ToolEnvelope, ToolInfo } from '../api/gateway.ts';
import { endpoints } from '../api/index.ts';
import { listed, toolNamespaces } from '../api/tools.ts';
import { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';
import { systemClock } from '../lib/clock.ts';
import { newUuid } from '../lib/ids.ts';
import { serveTools, type ToolBackend } from './tool-server.ts';
import { LineTransport } from './transports.ts';

/** The MCP server that an agent starts: on stdin and stdout, until its input ends. */
export async function runSidecar(given: {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}): Promise<void> {
  const { CADRE_GATEWAY_URL: url, CADRE_GATEWAY_TOKEN: token, CADRE_SESSION_ID: id } = given.env;
  const client = url && token && id ? new Client({ url, token }) : null;
  const transport = new LineTransport(given.stdin, given.stdout);
  await serveTools(transport, client && id ? backendOf(client, id) : nowhere, systemClock);
  client?.close();
}

function backendOf(client: Client, sessionId: string): ToolBackend {
  return {
    async list() {
      try {
        const { namespaces } = await client.call(endpoints.getCapabilities, {});
        return namespaces.flatMap(({ tools }) => tools);
      } catch {
        // A tool that is listed can say what is wrong.
        return everyTool();
      }
    },
    async call(tool, args, gone) {
      // Request ids of MCP begin again with each sidecar: they name no invocation.
      const body = { tool_name: tool, caller_agent_id: sessionId, invocation_id: newUuid(), args };
      try {
        return await client.call(endpoints.invokeTool, { body }, gone);
      } catch (error) {
        return refused(error);
      }
    },
  };
}

/** Without an address or a token there is nothing to call. */
const nowhere: ToolBackend = {
  list: () => Promise.resolve(everyTool()),
  call: () =>
    Promise.resolve(
      unavailable(
        'the tools are unavailable: CADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and CADRE_SESSION_ID have to be set',
      ),
    ),
};

function everyTool(): ToolInfo[] {
  return Object.values(toolNamespaces).flatMap(listed);
}

function refused(error: unknown): ToolEnvelope {
  if (!(error instanceof AppError))
    return { ok: false, error: { code: 'internal', message: 'the tool could not be called' } };
  const { code, message } = error;
  if (code === 'unreachable' || code === 'unauthorized' || code === 'shutting_down')
    return unavailable(`the tools are unavailable: ${message}`);
  const known = code === 'not_found' ? 'not_found' : 'bad_request';
  return { ok: false, error: { code: known, message } };
}

function unavailable(message: string): ToolEnvelope {
  return { ok: false, error: { code: 'backend_unavailable', message } };
}
