/** The states of the reference model. Everything is a plain value, so that a step copies it, and changes the copy. */

export type End = 'completed' | 'interrupted' | 'failed';

export interface ModelTurn {
  name: string;
  status: 'accepted' | 'running' | 'waiting_for_approval' | End;
  source: 'user' | 'team_message' | 'queue' | 'process_exit';
  error: string | null;
  /** Whether an agent of this server works on it: false for a turn that was kept over a restart. */
  hasAgent: boolean;
  isInterrupting: boolean;
  /** When its agent is killed after an interrupt, by the clock of the model. */
  killAt: number | null;
  /** When the time limit of turns interrupts it. */
  limitAt: number | null;
  /** Whether it has an item or an approval: a completed turn without one gets a notice. */
  hasItems: boolean;
  hasOpenTool: boolean;
  /** The inbox entries that became this turn. */
  entries: string[];
  /** Requests that were accepted while the turn had no agent. Each answers one equal request. */
  grants: number[];
}

export interface ModelApproval {
  name: string;
  turn: string;
  subject: number;
  status: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled';
  expiresAt: number;
  isHeld: boolean;
}

export interface ModelEntry {
  name: string;
  /** The prompt of a person, the delivery of a message, or the notice of the end of a process. */
  kind: 'queue' | 'team' | 'process';
  rank: number;
  at: number | null;
  /** Whether its time has come, and an event has said so. */
  isDue: boolean;
  status: 'scheduled' | 'waiting' | 'held' | 'running';
  hold: 'paused' | 'session_failed' | 'session_closed' | null;
  turn: string | null;
  wantsBoundary: boolean;
}

export interface ModelSession {
  id: string;
  status: 'ready' | 'running' | 'waiting_for_approval' | 'closed' | 'failed';
  turns: ModelTurn[];
  approvals: ModelApproval[];
  /** All that waits to become a turn, and what is a turn now, oldest first. */
  inbox: ModelEntry[];
  entries: number;
  /** The commands that have run for it. */
  processes: { name: string; code: number; notifies: boolean }[];
  /** Whether a person interrupted it: nothing of the inbox starts. */
  isStopped: boolean;
  /** The wait before another try to get an agent, and the tries that failed. */
  waitUntil: number | null;
  failures: number;
  /** When each failed try is repeated. Such a time ends any wait, also after a later failure. */
  tries: number[];
  /** A pause by a person: null, without an end, or until a time. */
  pause: { until: number | null } | null;
  /** Whether an agent lives, and since when it is idle. */
  hasAgent: boolean;
  idleSince: number;
}

export interface ModelDelivery {
  name: string;
  message: string;
  to: string;
  status: 'pending' | 'deferred' | 'injecting' | 'injected' | 'failed' | 'cancelled';
  error: string | null;
  turn: string | null;
  isConsumed: boolean;
}

export type Policy =
  | 'non_interrupting'
  | 'start_new_turn_only'
  | 'interrupt_after_tool_boundary'
  | 'immediate_interrupt';

export interface ModelMessage {
  name: string;
  policy: Policy;
  priority: 'high' | 'normal' | 'low';
  isCancelled: boolean;
}

export interface ModelBudget {
  session: string;
  limit: number;
  allowed: number;
  spent: number;
  status: 'open' | 'reached' | 'declined';
  approval: string | null;
}

/** The answer to a request: its status, its code if it is refused, and what its body says. */
export interface Answer {
  status: number;
  code: string | null;
  says: string | null;
  isReplayed: boolean;
}

export interface ModelState {
  now: number;
  sessions: ModelSession[];
  members: string[];
  lead: string;
  isTeamDeleted: boolean;
  messages: ModelMessage[];
  deliveries: ModelDelivery[];
  budgets: ModelBudget[];
  /** The errors with which the next agents refuse to start, oldest first. */
  refusals: string[];
  keys: Record<string, { request: string; answer: Answer; at: number }>;
  /** The events, by the session or team that they are about. */
  events: Record<string, string[]>;
}

export const TEAM = 'team';
export const SERVER = 'server';

export const APPROVAL_MS = 60_000;
export const TURN_MS = 3_600_000;
export const IDLE_MS = 900_000;
export const KILL_MS = 10_000;
export const KEY_MS = 24 * 3_600_000;
export const RETRY_MS = 1000;

export function newState(names: readonly string[], now: number): ModelState {
  const [lead = ''] = names;
  const state: ModelState = {
    now,
    sessions: names.map((id) => newSession(id)),
    members: [...names],
    lead,
    isTeamDeleted: false,
    messages: [],
    deliveries: [],
    budgets: [],
    refusals: [],
    keys: {},
    events: {},
  };
  for (const id of names) emit(state, id, 'session.created ready');
  emit(state, TEAM, 'team.created');
  for (const id of names) emit(state, id, `team.member_joined ${id}`);
  return state;
}

function newSession(id: string): ModelSession {
  return {
    id,
    status: 'ready',
    turns: [],
    approvals: [],
    inbox: [],
    entries: 0,
    processes: [],
    isStopped: false,
    waitUntil: null,
    failures: 0,
    tries: [],
    pause: null,
    hasAgent: false,
    idleSince: 0,
  };
}

/** Returns the scope of the events of the processes of a session. */
export function processesOf(session: string): string {
  return `processes of ${session}`;
}

export function emit(state: ModelState, scope: string, event: string): void {
  (state.events[scope] ??= []).push(event);
}

export function hasEnded({ status }: ModelTurn): boolean {
  return status === 'completed' || status === 'interrupted' || status === 'failed';
}

export function activeTurn({ turns }: ModelSession): ModelTurn | undefined {
  const last = turns.at(-1);
  return last && !hasEnded(last) ? last : undefined;
}

export function turnNamed(session: ModelSession, name: string | null): ModelTurn | undefined {
  return session.turns.find((turn) => turn.name === name);
}

export function pendingOf({ approvals }: ModelSession, turn: ModelTurn): ModelApproval[] {
  return approvals.filter((one) => one.turn === turn.name && one.status === 'pending');
}

export function isOpen({ status }: ModelSession): boolean {
  return status !== 'closed' && status !== 'failed';
}

export function sessionNamed(state: ModelState, id: string): ModelSession {
  const found = state.sessions.find((one) => one.id === id);
  if (!found) throw new Error(`the model has no session ${id}`);
  return found;
}
