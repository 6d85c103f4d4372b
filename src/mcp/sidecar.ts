import type { ToolEnvelope, ToolInfo } from '../api/gateway.ts';
import { endpoints } from '../api/index.ts';
import { toolInfosOf, toolNamespaces } from '../api/tools.ts';
import { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';
import { systemClock } from '../lib/clock.ts';
import { newUuid } from '../lib/ids.ts';
import { serveTools, type ToolBackend } from './tool-server.ts';
import { LineTransport } from './transports.ts';

/** Runs the MCP server that an agent starts. It serves the tools on stdin and stdout until its input ends. */
export async function runSidecar(io: {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}): Promise<void> {
  const { CADRE_GATEWAY_URL: url, CADRE_GATEWAY_TOKEN: token, CADRE_SESSION_ID: id } = io.env;
  const client = url && token && id ? new Client({ url, token }) : null;
  const transport = new LineTransport(io.stdin, io.stdout);
  await serveTools(
    transport,
    client && id ? backendOf(client, id) : unconfiguredBackend,
    systemClock,
  );
  client?.close();
}

function backendOf(client: Client, sessionId: string): ToolBackend {
  return {
    async list() {
      try {
        const { namespaces } = await client.call(endpoints.getCapabilities, {});
        return namespaces.flatMap(({ tools }) => tools);
      } catch {
        // With an empty list the agent could call nothing; a call of a listed tool returns the reason.
        return allTools();
      }
    },
    async call(tool, args, signal) {
      // Request ids of MCP start again with each sidecar, so they cannot serve as invocation ids.
      const body = { tool_name: tool, caller_agent_id: sessionId, invocation_id: newUuid(), args };
      try {
        return await client.call(endpoints.invokeTool, { body }, signal);
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

/** The backend of a sidecar that lacks the URL, the token or the session id of its server. */
const unconfiguredBackend: ToolBackend = {
  list: () => Promise.resolve(allTools()),
  call: () =>
    Promise.resolve(
      unavailable(
        'the tools are unavailable: CADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and CADRE_SESSION_ID have to be set',
      ),
    ),
};

function allTools(): ToolInfo[] {
  return Object.values(toolNamespaces).flatMap(toolInfosOf);
}

function failureOf(error: unknown): ToolEnvelope {
  if (!(error instanceof AppError))
    return { ok: false, error: { code: 'internal', message: 'the tool could not be called' } };
  const { code, message } = error;
  if (code === 'unreachable' || code === 'unauthorized' || code === 'shutting_down')
    return unavailable(`the tools are unavailable: ${message}`);
  const toolCode = code === 'not_found' ? 'not_found' : 'bad_request';
  return { ok: false, error: { code: toolCode, message } };
}

function unavailable(message: string): ToolEnvelope {
  return { ok: false, error: { code: 'backend_unavailable', message } };
}
