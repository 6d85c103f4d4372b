import { type Act, badRequests, requestOf } from './acts.ts';
import {
  becomeDue,
  changeEntry,
  close,
  decide,
  done,
  endPause,
  exit,
  interruptTurn,
  pauseQueue,
  queue,
  refused,
  resume,
  resumeQueue,
  run,
  send,
  setBudget,
  settle,
} from './session-rules.ts';
import {
  activeTurn,
  type Answer,
  emit,
  IDLE_MS,
  KEY_MS,
  type ModelSession,
  type ModelState,
  pendingOf,
  SERVER,
  sessionNamed,
  turnNamed,
} from './state.ts';
import {
  cancelMessage,
  deleteTeam,
  interruptAll,
  join,
  leave,
  message,
  retry,
} from './team-rules.ts';
import {
  atBoundary,
  beginNext,
  cancel,
  closeTool,
  type Draft,
  end,
  interrupt,
  start,
} from './turns.ts';

/** An act of the agent of a session in its turn. */
export type AgentAct =
  | { does: 'say' | 'tool' | 'die' }
  | { does: 'ask'; subject: number }
  | { does: 'end'; status: 'completed' | 'interrupted' | 'failed' };

type Tempers = Readonly<Record<string, boolean>>;

/** Runs a change on a copy of a state, and then all that follows from it. */
function step<T>(
  before: ModelState,
  tempers: Tempers,
  change: (draft: Draft) => T,
): { state: ModelState; result: T } {
  const state = structuredClone(before);
  const draft: Draft = { state, reactions: [], isObedient: (id) => tempers[id] !== false };
  const result = change(draft);
  react(draft);
  return { state, result };
}

function react(draft: Draft): void {
  for (let next = draft.reactions.shift(); next; next = draft.reactions.shift()) {
    const session = sessionNamed(draft.state, next.session);
    const turn = turnNamed(session, next.name);
    if (next.does === 'exit') exit(draft, session, next.name);
    else if (turn) (next.does === 'start' ? start : cancel)(draft, session, turn);
  }
}

/** Answers a request. A key of the last day gives the answer of its first request again. */
export function ask(state: ModelState, tempers: Tempers, act: Act, key: string | null) {
  return step(state, tempers, (draft): Answer => {
    const request = JSON.stringify(requestOf(act));
    const isKeyed = key !== null && requestOf(act).method === 'POST';
    const kept = isKeyed ? draft.state.keys[key] : undefined;
    const isInvalid = act.does === 'decide' && act.decision === 'maybe';
    if (kept && !isInvalid && draft.state.now - kept.at <= KEY_MS)
      return kept.request === request
        ? { ...kept.answer, isReplayed: true }
        : refused(409, 'idempotency_conflict');
    const answer = answerTo(draft, act);
    const isFinal =
      answer.status < 300 || (answer.status === 409 && answer.code !== 'turn_in_progress');
    if (isKeyed && isFinal) draft.state.keys[key] = { request, answer, at: draft.state.now };
    return answer;
  });
}

function answerTo(draft: Draft, act: Act): Answer {
  switch (act.does) {
    case 'send':
      return send(draft, act);
    case 'interrupt':
      return interruptTurn(draft, act);
    case 'decide':
      return decide(draft, act);
    case 'close':
      return close(draft, act);
    case 'resume':
      return resume(draft, act);
    case 'queue':
      return queue(draft, act);
    case 'pause_queue':
      return pauseQueue(draft, act);
    case 'resume_queue':
      return resumeQueue(draft, act);
    case 'pause_entry':
    case 'resume_entry':
    case 'drop_entry':
      return changeEntry(draft, act);
    case 'message':
      return message(draft, act);
    case 'cancel_message':
      return cancelMessage(draft, act);
    case 'retry':
      return retry(draft, act);
    case 'leave':
      return leave(draft, act);
    case 'join':
      return join(draft, act);
    case 'delete_team':
      return deleteTeam(draft);
    case 'interrupt_all':
      return interruptAll(draft);
    case 'run':
      return run(draft, act);
    case 'budget':
      return setBudget(draft, act);
    case 'bad': {
      const bad = badRequests[act.which % badRequests.length];
      return bad ? refused(bad.status, bad.code) : done('');
    }
  }
}

/** The agent of a running turn acts. */
export function applyAgentAct(state: ModelState, tempers: Tempers, id: string, act: AgentAct) {
  return step(state, tempers, (draft) => {
    const session = sessionNamed(draft.state, id);
    const turn = activeTurn(session);
    if (!turn?.hasAgent) return;
    if (act.does === 'end') return end(draft, session, turn, outcomeOf(act.status));
    if (act.does === 'die') {
      session.hasAgent = false;
      return end(draft, session, turn, { status: 'failed', error: 'provider_unavailable' });
    }
    if (act.does === 'ask') return request(draft, session, act.subject);
    turn.hasItems = true;
    if (act.does === 'say') return;
    if (turn.hasOpenTool) {
      closeTool(draft, session, turn, 'completed');
      return atBoundary(draft, session);
    }
    turn.hasOpenTool = true;
    emit(draft.state, id, `tool.started ${turn.name}`);
  });
}

function outcomeOf(status: 'completed' | 'interrupted' | 'failed') {
  return { status, error: status === 'failed' ? 'model_error' : null };
}

/** The agent asks for an approval. An acceptance from the time without an agent answers one equal request. */
function request({ state }: Draft, session: ModelSession, subject: number): void {
  const turn = activeTurn(session);
  if (!turn) return;
  const granted = turn.grants.indexOf(subject);
  if (granted >= 0) return void turn.grants.splice(granted, 1);
  if (turn.isInterrupting) return;
  const name = `a${session.approvals.length + 1}`;
  const expiresAt = state.now + 60_000;
  session.approvals.push({
    name,
    turn: turn.name,
    subject,
    status: 'pending',
    expiresAt,
    isHeld: false,
  });
  turn.hasItems = true;
  turn.status = 'waiting_for_approval';
  session.status = 'waiting_for_approval';
  emit(state, session.id, `approval.requested ${name} ${turn.name}`);
}

/** The provider refuses to start the next agent. */
export function refuse(state: ModelState, code: string): ModelState {
  return { ...state, refusals: [...state.refusals, code] };
}

/** Retention deletes what a closed session has, when that is too old: its queue entries too. */
export function retire(state: ModelState): ModelState {
  return step(state, {}, (draft) => {
    for (const session of draft.state.sessions) {
      for (const { kind, name } of session.inbox)
        if (kind === 'queue') emit(draft.state, session.id, `queue.removed ${name} trimmed`);
      session.inbox = [];
    }
  }).state;
}

/** The next time at which something happens by itself; null if nothing is to. */
export function nextTime(state: ModelState): number | null {
  const times = state.sessions.flatMap((session) => {
    const turn = activeTurn(session);
    return [
      session.hasAgent && session.idleSince !== Infinity ? session.idleSince + IDLE_MS : [],
      turn?.hasAgent && turn.limitAt !== null && !turn.isInterrupting ? turn.limitAt : [],
      turn?.hasAgent && turn.killAt !== null ? turn.killAt : [],
      turn ? pendingOf(session, turn).map(({ expiresAt }) => expiresAt) : [],
      session.tries,
      session.pause?.until ?? [],
      session.inbox.flatMap((entry) => (entry.status === 'scheduled' ? (entry.at ?? []) : [])),
    ].flat();
  });
  const next = Math.min(...times.filter((at) => at > state.now));
  return next === Infinity ? null : next;
}

/** Time passes until a moment at which all that is due happens. */
export function reach(before: ModelState, tempers: Tempers, at: number): ModelState {
  return step({ ...before, now: at }, tempers, (draft) => {
    for (const session of draft.state.sessions) {
      if (session.idleSince + IDLE_MS === at) session.hasAgent = false;
      passTurn(draft, session, at);
      if (session.tries.includes(at)) {
        session.tries = session.tries.filter((one) => one !== at);
        if (session.waitUntil !== null) session.waitUntil = 0;
        beginNext(draft, session);
      }
      settleTimes(draft, session);
    }
  }).state;
}

function passTurn(draft: Draft, session: ModelSession, at: number): void {
  const turn = activeTurn(session);
  if (!turn) return;
  for (const approval of pendingOf(session, turn))
    // The first that expires may end the turn, which cancels the others.
    if (approval.status === 'pending' && approval.expiresAt <= at)
      settle(draft, session, approval, 'expired');
  if (!turn.hasAgent) return;
  if (turn.killAt === at) {
    session.hasAgent = false;
    end(draft, session, turn, { status: 'interrupted', error: null });
  } else if (turn.limitAt === at && !turn.isInterrupting)
    interrupt(draft, session, turn, 'turn_timeout');
}

function settleTimes(draft: Draft, session: ModelSession): void {
  const { now } = draft.state;
  const { pause } = session;
  if (pause !== null && pause.until !== null && pause.until <= now) {
    endPause(draft, session);
    beginNext(draft, session);
  }
  const due = session.inbox.flatMap((entry) =>
    entry.status === 'scheduled' && entry.at !== null && entry.at <= now
      ? { entry, at: entry.at }
      : [],
  );
  // After a restart, several may be due.
  for (const { entry } of due.toSorted((one, other) => one.at - other.at))
    becomeDue(draft, session, entry);
}

/** The server stops, in order or by a crash, and starts again at a time. */
export function restart(before: ModelState, tempers: Tempers, how: 'stop' | 'crash', at: number) {
  return step(before, tempers, (draft) => {
    const { state } = draft;
    if (how === 'stop') stop(draft);
    draft.reactions = [];
    state.refusals = [];
    state.now = at;
    emit(state, SERVER, `runtime.started ${how === 'stop' ? 'clean' : 'unclean'}`);
    for (const session of state.sessions) recover(draft, session);
    emit(state, SERVER, 'runtime.recovered');
    for (const session of state.sessions) {
      session.waitUntil = null;
      session.failures = 0;
      session.tries = [];
      beginNext(draft, session);
      settleTimes(draft, session);
    }
  }).state;
}

/** Ends the turns that agents work on. A turn that waits for an approval is left to the next server. */
function stop(draft: Draft): void {
  emit(draft.state, SERVER, 'runtime.stopping');
  for (const session of draft.state.sessions) {
    const turn = activeTurn(session);
    if (turn?.status === 'running')
      end(draft, session, turn, {
        status: 'interrupted',
        error: 'runtime_stopping',
        isStopping: true,
      });
  }
}

function recover(draft: Draft, session: ModelSession): void {
  const turn = activeTurn(session);
  session.hasAgent = false;
  session.idleSince = 0;
  if (!turn) return;
  if (turn.status === 'waiting_for_approval') {
    closeTool(draft, session, turn, 'interrupted');
    turn.hasAgent = false;
    turn.grants = [];
  } else {
    end(draft, session, turn, { status: 'failed', error: 'runtime_restarted', isStopping: true });
  }
}
