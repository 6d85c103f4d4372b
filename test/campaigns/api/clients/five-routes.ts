// Calls five routes with types that openapi-typescript made of openapi.yaml, in `schema.d.ts` beside a copy of this
// file. What it does not say of itself, the compiler checks: `tsc` reads it with everything strict.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

declare const process: { env: Record<string, string | undefined> };

type Session = components['schemas']['Session'];
type ToolEnvelope = components['schemas']['ToolEnvelope'];

const { CADRE_URL: baseUrl = '', CADRE_TOKEN: token = '' } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

const version = taken(await client.GET('/v1/version'));
const session: Session = taken(
  await client.POST('/v1/sessions', { body: { provider: 'acp', title: 'typescript' } }),
);
const turn = taken(
  await client.POST('/v1/sessions/{session_id}/turns', {
    params: { path: { session_id: session.id } },
    body: { input: [{ type: 'text', text: 'say hello' }], permission_mode: null },
  }),
);
const events = taken(
  await client.GET('/v1/sessions/{session_id}/events', {
    params: { path: { session_id: session.id }, query: { kind: ['turn.*'], limit: 1 } },
  }),
);
const envelope: ToolEnvelope = taken(
  await client.POST('/v1/mcp/invoke', {
    body: { tool_name: 'cadre_process_status', caller_agent_id: session.id, args: {} },
  }),
);
const missing = await client.GET('/v1/sessions/{session_id}', {
  params: { path: { session_id: 'sess_none' } },
});
const refusal: 'not_found' | undefined = missing.error && codeOf(missing.error);

console.log(
  JSON.stringify({
    name: version.name,
    provider: session.provider,
    turn: turn.status,
    kinds: events.map(({ kind }) => kind),
    tool: envelope.ok ? Object.keys(envelope.result) : envelope.error.code,
    refusal,
  }),
);

function taken<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

function codeOf(error: object): 'not_found' | undefined {
  return 'code' in error && error.code === 'not_found' ? error.code : undefined;
}
