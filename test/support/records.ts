import type { Approval } from '../../src/api/approvals.ts';
import type { Item, Session, Turn, Usage } from '../../src/api/sessions.ts';
import { noUsage } from '../../src/server/conversations/sessions/turn.ts';

/** Returns a session as it is after its creation. */
export function aSession(more: Partial<Session> = {}): Session {
  return {
    id: 'sess_1',
    provider: 'acp',
    agent: 'default',
    model: null,
    cwd: '/work',
    permission_mode: null,
    agent_mode: null,
    agent_asks: null,
    thinking_effort: null,
    metadata: { mine: true },
    title: null,
    pinned: false,
    snoozed_until: null,
    muted: false,
    seen_seq: 0,
    news_seq: 0,
    last_activity_at: 1,
    last_words: null,
    status: 'ready',
    active_turn_id: null,
    last_turn_id: null,
    last_turn_status: null,
    last_turn_error: null,
    provider_session_ref: null,
    provider_defaults: null,
    worktree_id: null,
    usage: null,
    close_reason: null,
    failure: null,
    created_at: 1,
    updated_at: 1,
    closed_at: null,
    trimmed: false,
    ...more,
  };
}

/** Returns a turn as it is after its acceptance. */
export function aTurn(more: Partial<Turn> = {}): Turn {
  return {
    session_id: 'sess_1',
    turn_id: 'turn_1',
    status: 'accepted',
    source: 'user',
    input: [{ type: 'text', text: 'hello' }],
    permission_mode: null,
    agent_mode: null,
    model: null,
    thinking_effort: null,
    text: null,
    usage: null,
    error: null,
    provider_turn_ref: null,
    accepted_at: 1,
    started_at: null,
    ended_at: null,
    interrupt_requested_at: null,
    trimmed: false,
    ...more,
  };
}

/** Returns a pending approval. */
export function anApproval(more: Partial<Approval> = {}): Approval {
  return {
    id: 'apr_1',
    session_id: 'sess_1',
    turn_id: 'turn_1',
    provider: 'acp',
    kind: 'tool',
    title: 'use a tool',
    request: { tool: 'x' },
    details: [],
    scopes: ['once'],
    session_allows: null,
    subject: { tool: 'x' },
    answers: null,
    status: 'pending',
    decision: null,
    scope: null,
    decided_by: null,
    reason: null,
    expires_at: null,
    created_at: 1,
    held: false,
    resolved_at: null,
    ...more,
  };
}

/** Returns an open message item. */
export function anItem(more: Partial<Item> = {}): Item {
  return {
    item_id: 'item_1',
    session_id: 'sess_1',
    turn_id: 'turn_1',
    kind: 'message',
    status: 'open',
    text: '',
    tool: null,
    created_at: 1,
    completed_at: null,
    ...more,
  };
}

export function aUsage(more: Partial<Usage> = {}): Usage {
  return { ...noUsage, ...more };
}
