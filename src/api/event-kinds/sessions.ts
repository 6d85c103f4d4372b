import { pastTurn } from '../conversations.ts';
import { lastWords, session, sessionTitle, turn } from '../sessions.ts';
import { z } from 'zod';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

/** A session as events contain it after its creation. */
const sessionInEvents = session.omit({ metadata: true }).meta({
  id: 'SessionInEvents',
  description: 'Record of a session that has changed, without `metadata`.',
});
export type SessionInEvents = z.output<typeof sessionInEvents>;

/** A turn as events contain it after it was accepted. */
const turnInEvents = turn.omit({ input: true, text: true }).meta({
  id: 'TurnInEvents',
  description: 'Record of a turn that has changed, without `input` and `text`.',
});
export type TurnInEvents = z.output<typeof turnInEvents>;

const changed = {
  id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  provider: 'acp' as const,
  agent: 'gemini',
  model: null,
  cwd: '/home/ada/project',
  permission_mode: null,
  agent_mode: null,
  agent_asks: null,
  thinking_effort: null,
  title: 'fix the tests',
  status: 'ready' as const,
  pinned: false,
  snoozed_until: null,
  muted: false,
  seen_seq: 0,
  news_seq: 51,
  last_activity_at: 1795312004000,
  last_words: 'The tests pass again.',
  active_turn_id: null,
  last_turn_id: 'turn_019aa8d26f307d6a8c1f91b7a3e0d422',
  last_turn_status: 'completed' as const,
  last_turn_error: null,
  provider_session_ref: 'demo-7c07',
  provider_defaults: null,
  worktree_id: null,
  usage: null,
  close_reason: null,
  failure: null,
  created_at: 1795312001000,
  updated_at: 1795312004000,
  closed_at: null,
  trimmed: false,
};

const forkedFrom = {
  session_id: 'sess_019aa8d45e2f7b1c8a3d90e1f2b4c6d8',
  turn_id: 'turn_019aa8d46f307d6a8c1f91b7a3e0d433',
  conversation: null,
  past_turns: 1,
  omitted_turns: 0,
  way: null,
};

/** Describes a change of a session. `change`: the fields of the example that differ from `changed`. */
const changeKind = ({ when, change }: { when: string; change?: Partial<SessionInEvents> }) =>
  kind({
    when,
    payload: { session: sessionInEvents },
    example: { session: { ...changed, ...change } },
  });

export const sessionKinds = {
  'session.created': kind({
    when: 'Emitted when a session is created. The agent of the session starts with the first turn.',
    payload: { session },
    large: ['session.metadata'],
    example: {
      session: {
        ...changed,
        last_turn_id: null,
        last_turn_status: null,
        provider_session_ref: null,
        news_seq: 0,
        last_activity_at: 1795312001000,
        last_words: null,
        updated_at: 1795312001000,
        metadata: { ticket: 'T-12' },
      },
    },
  }),
  'session.updated': changeKind({
    when: 'Emitted when the title, a setting (such as pinned or model) or the worktree of a session changes, and when a restart of the server changes its status. Turn events report the changes that turns cause.',
    change: { worktree_id: 'wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33' },
  }),
  'session.resumed': changeKind({
    when: 'Emitted when a failed session is resumed, because the agent still stores the conversation.',
  }),
  'session.closed': changeKind({
    when: 'Emitted when a session is closed. A closed session cannot be resumed.',
    change: {
      status: 'closed',
      close_reason: 'done',
      updated_at: 1795312009000,
      closed_at: 1795312009000,
    },
  }),
  'session.failed': changeKind({
    when: 'Emitted when a session fails, because the agent no longer stores the conversation or cannot resume the session.',
    change: {
      status: 'failed',
      failure: { code: 'resume_failed', message: 'the agent no longer has this session' },
    },
  }),
  'session.limited': changeKind({
    when: 'Emitted when an agent reports a usage limit, so that the queue of the session starts no turns for now. The limit ended a turn of this session, or of another session with the same account. The field `usage_limit` contains the time at which the session resumes.',
    change: {
      usage_limit: {
        message: "claude has reached a usage limit: You've hit your 5-hour limit",
        since: 1795312004000,
        resets_at: 1795322700000,
        resumes_at: 1795322700000,
        waits_because: null,
        turn_id: changed.last_turn_id,
      },
    },
  }),
  'session.limit_ended': changeKind({
    when: 'Emitted when a session no longer waits for a usage limit. The limit has reset, a user resumed the session or sent a turn, or a turn of the same account has completed.',
    change: { usage_limit: null },
  }),
  'session.handed_over': changeKind({
    when: 'Emitted when a session is handed over to another agent. The field `continued_by` contains the id of the new session, whose event `session.created` comes before.',
    change: { continued_by: 'sess_019aa8d45e2f7b1c8a3d90e1f2b4c6d8' },
  }),
  'session.forked': changeKind({
    when: 'Emitted when a session is created as a fork of another session or conversation. The field `forked_from` contains its id and the id of the last turn of the history. The past turns come before.',
    change: { forked_from: forkedFrom },
  }),
  'session.rewound': changeKind({
    when: 'Emitted when a session is rewound. The field `continued_by` contains the id of the session that continues it, whose event `session.created` comes before. The event `session.closed` follows.',
    change: { continued_by: 'sess_019aa8d45e2f7b1c8a3d90e1f2b4c6d8' },
  }),
  'session.imported': changeKind({
    when: "Emitted when all past turns of a conversation are stored that was begun in the agent's own program.",
    change: { imported: { program: 'cli', past_turns: 12, omitted_turns: 0, complete: true } },
  }),
  'session.handed_back': changeKind({
    when: "Emitted when the idle agent of a session was ended, so that a user can continue the conversation in the agent's own program.",
  }),
  'session.notice': kind({
    when: 'Emitted when a session has a notice for the user, such as a warning of the agent, a compaction of the context, or a limit. A notice during a turn contains the id of the turn.',
    payload: {
      code: z.string().meta({
        description:
          'Code of the notice in snake_case, such as notice, warning, compaction or agent_never_asks. Later versions may add codes.',
      }),
      message: z.string().describe('Text of the notice, for users to read.'),
    },
    example: {
      code: 'compaction',
      message: 'the agent replaced the earlier conversation with a summary',
    },
  }),
};

const started = {
  session_id: changed.id,
  turn_id: changed.last_turn_id,
  status: 'running' as const,
  source: 'user' as const,
  permission_mode: null,
  agent_mode: null,
  model: null,
  thinking_effort: null,
  usage: null,
  error: null,
  provider_turn_ref: 'prompt-1',
  accepted_at: 1795312002000,
  started_at: 1795312002040,
  ended_at: null,
  interrupt_requested_at: null,
  trimmed: false,
};

/** Turns that ran outside of the session. */
export const pastKinds = {
  'past.turn': kind({
    when: "Emitted when a turn is stored that ran in the agent's own program, or before the fork of a session. Such a turn starts no hook, and has no usage and no items of its own.",
    payload: { past_turn: pastTurn },
    large: ['past_turn.items'],
    example: {
      past_turn: {
        past_turn_id: 'past_019aa8d26f307d6a8c1f91b7a3e0d433',
        session_id: changed.id,
        ref: '78d2a291-0b1c-4c07-9a54-2f6d0c1b7e11',
        program: 'cli',
        status: 'completed',
        prompt: 'fix the tests',
        items: [{ kind: 'message', status: 'completed', title: null, text: 'The tests pass.' }],
        occurred_at: 1795312001000,
        created_at: 1795312004000,
      },
    },
  }),
};

const wordsAfter = lastWords.describe('New `last_words` of the session.');

/** Turns. Each status change of a turn implies the status of its session. */
export const turnKinds = {
  'turn.accepted': kind({
    when: 'Emitted when the server has stored a new turn. The field `source` of the turn contains its origin, such as a user, the queue or a team message. The status of the session is then `running`.',
    payload: { turn, title: sessionTitle.describe('New title of the session.') },
    large: ['turn.input'],
    example: {
      title: 'fix the tests',
      turn: {
        ...started,
        status: 'accepted',
        input: [{ type: 'text', text: 'fix the tests' }],
        text: null,
        provider_turn_ref: null,
        started_at: null,
      },
    },
  }),
  'turn.started': kind({
    when: 'Emitted when the server is about to send the prompt of a turn to an agent.',
    payload: { turn: turnInEvents },
    example: { turn: started },
  }),
  'turn.interrupt_requested': kind({
    when: 'Emitted when a request to interrupt a turn arrives. The turn ends as interrupted, even if the agent does not respond.',
    payload: { turn: turnInEvents },
    example: { turn: { ...started, interrupt_requested_at: 1795312003000 } },
  }),
  'turn.completed': kind({
    when: 'Emitted when a turn has ended because the agent has finished. The status of the session is then `ready`.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: { ...started, status: 'completed', ended_at: 1795312004000 },
      last_words: 'The tests pass again.',
    },
  }),
  'turn.interrupted': kind({
    when: 'Emitted when a turn has ended because of an interrupt. The status of the session is then `ready`.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: {
        ...started,
        status: 'interrupted',
        ended_at: 1795312003200,
        interrupt_requested_at: 1795312003000,
      },
      last_words: 'The tests pass again.',
    },
  }),
  'turn.failed': kind({
    when: 'Emitted when a turn has failed. The field `error` contains the reason. The status of the session is then `ready`, unless the session has failed too.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: {
        ...started,
        status: 'failed',
        error: { code: 'agent_exited', message: 'the agent exited with code 1' },
        ended_at: 1795312004000,
      },
      last_words: 'The tests pass again.',
    },
  }),
};
