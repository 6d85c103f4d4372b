import type { Policy } from './state.ts';

/** A request of a client, with the names that the model gives to sessions, turns and other records. */
export type Act =
  | { does: 'send'; session: string; expected: string | null }
  | { does: 'interrupt'; session: string; turn: string }
  | { does: 'decide'; session: string; approval: string; decision: string }
  | { does: 'close' | 'resume' | 'resume_queue'; session: string }
  | { does: 'queue'; session: string; at: number | null }
  | { does: 'pause_queue'; session: string; until: number | null }
  | { does: 'pause_entry' | 'resume_entry' | 'drop_entry'; session: string; entry: string }
  | {
      does: 'message';
      from: string;
      /** Null: a broadcast. */
      to: string | null;
      priority: 'high' | 'normal' | 'low';
      policy: Policy;
    }
  | { does: 'cancel_message'; message: string }
  | { does: 'retry'; delivery: string }
  | { does: 'leave' | 'join'; session: string }
  | { does: 'delete_team' | 'interrupt_all' }
  | { does: 'budget'; session: string; turns: number }
  | { does: 'run'; session: string; code: number; notifies: boolean }
  | { does: 'bad'; which: number };

/** A request whose path and body have names in braces in place of ids. */
export interface NamedRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: object | undefined;
}

const post = (path: string, body: object = {}): NamedRequest => ({ method: 'POST', path, body });
const said = { type: 'text', text: 'go' };

/** Requests that no server accepts, and their answers. */
export const badRequests: readonly (NamedRequest & { status: number; code: string })[] = [
  { ...post('/v1/sessions/{A}/turns', { input: said, speed: 1 }), status: 400, code: 'invalid' },
  { ...post('/v1/sessions/{A}/turns', { input: [] }), status: 400, code: 'invalid' },
  { ...post('/v1/sessions/sess_none/turns', { input: said }), status: 404, code: 'not_found' },
  { ...post('/v1/sessions/{A}/turns/turn_none/interrupt'), status: 404, code: 'not_found' },
  {
    ...post('/v1/sessions/{A}/approvals/apr_none', { decision: 'accept' }),
    status: 404,
    code: 'not_found',
  },
  { ...post('/v1/sessions/sess_none/close'), status: 404, code: 'not_found' },
  { ...post('/v1/sessions', { provider: 'nobody' }), status: 400, code: 'invalid' },
  {
    ...post('/v1/teams/team_none/messages', messageBody('{A}', '{B}')),
    status: 404,
    code: 'not_found',
  },
  {
    ...post('/v1/teams/{team}/messages', { ...messageBody('{A}', '{B}'), policy: 'now' }),
    status: 400,
    code: 'invalid',
  },
  { method: 'DELETE', path: '/v1/queue/que_none', status: 404, code: 'not_found' },
  { method: 'GET', path: '/v1/sessions/{A}/events?after_seq=-1', status: 400, code: 'invalid' },
  { method: 'GET', path: '/v1/sessions/{A}/turns?page=1', status: 400, code: 'invalid' },
  { method: 'DELETE', path: '/v1/sessions/{A}', status: 405, code: 'method_not_allowed' },
  { method: 'GET', path: '/v1/nothing', status: 404, code: 'not_found' },
];

function messageBody(from: string, to: string) {
  return { sender_agent_id: from, recipient_agent_id: to, input: said };
}

export function requestOf(act: Act): NamedRequest {
  const session = 'session' in act ? `/v1/sessions/{${act.session}}` : '';
  switch (act.does) {
    case 'send':
      return post(`${session}/turns`, {
        input: said,
        ...(act.expected === null ? {} : { expected_turn_id: `{${act.expected}}` }),
      });
    case 'interrupt':
      return post(`${session}/turns/{${act.turn}}/interrupt`);
    case 'decide':
      return post(`${session}/approvals/{${act.approval}}`, { decision: act.decision });
    case 'close':
    case 'resume':
      return post(`${session}/${act.does}`);
    case 'queue':
      return post(`${session}/queue`, {
        input: said,
        ...(act.at === null ? {} : { at: act.at }),
      });
    case 'pause_queue':
      return post(`${session}/queue/pause`, act.until === null ? {} : { until: act.until });
    case 'resume_queue':
      return post(`${session}/queue/resume`);
    case 'pause_entry':
      return post(`/v1/queue/{${act.entry}}/pause`);
    case 'resume_entry':
      return post(`/v1/queue/{${act.entry}}/resume`);
    case 'drop_entry':
      return { method: 'DELETE', path: `/v1/queue/{${act.entry}}` };
    case 'budget':
      return post('/v1/budgets', { session_id: `{${act.session}}`, turns: act.turns });
    case 'run':
      return post('/v1/processes', {
        session_id: `{${act.session}}`,
        command: `exit ${act.code}`,
        ...(act.notifies ? { on_exit: 'notify' } : {}),
      });
    case 'bad':
      return badRequests[act.which % badRequests.length] as NamedRequest;
    default:
      return teamRequestOf(act);
  }
}

function teamRequestOf(
  act: Extract<
    Act,
    {
      does:
        | 'message'
        | 'cancel_message'
        | 'retry'
        | 'leave'
        | 'join'
        | 'delete_team'
        | 'interrupt_all';
    }
  >,
): NamedRequest {
  const team = '/v1/teams/{team}';
  switch (act.does) {
    case 'message': {
      const { from, to, priority, policy } = act;
      const body = { sender_agent_id: `{${from}}`, input: said, priority, policy };
      if (to === null) return post(`${team}/broadcasts`, body);
      return post(`${team}/messages`, { ...body, recipient_agent_id: `{${to}}` });
    }
    case 'cancel_message':
      return post(`${team}/messages/{${act.message}}/cancel`);
    case 'retry':
      return post(`${team}/deliveries/{${act.delivery}}/retry`);
    case 'leave':
      return { method: 'DELETE', path: `${team}/members/{${act.session}}` };
    case 'join':
      return post(`${team}/members`, { agent_id: `{${act.session}}` });
    case 'delete_team':
      return { method: 'DELETE', path: team };
    case 'interrupt_all':
      return post(`${team}/interrupt-all`);
  }
}
