import type { ApprovalRule } from '../../api/approval-rules.ts';
import type { Approval } from '../../api/approvals.ts';
import type { Budget } from '../../api/budgets.ts';
import { endpoints } from '../../api/index.ts';
import type { Process } from '../../api/processes.ts';
import type { QueueEntry } from '../../api/queue.ts';
import type { Race } from '../../api/races.ts';
import type { ReviewComment } from '../../api/reviews.ts';
import type { Session, Turn } from '../../api/sessions.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import type { Member, Team } from '../../api/teams.ts';
import type { Token } from '../../api/tokens.ts';
import type { Worktree } from '../../api/worktrees.ts';
import type { Client } from '../../client/client.ts';
import { recordsOf } from '../../client/records-of.ts';

/** A kind of record that people name on the command line. `Within` is what its list is of, such as a team. */
export interface RecordKind<T, Within extends unknown[]> {
  what: string;
  /** The prefix of the ids. */
  prefix: string;
  all(client: Client, ...within: Within): AsyncIterable<T>;
  idOf(one: T): string;
  /** The field that people may give instead of an id. */
  name?: { field: string; of(one: T): string | null };
  /** Whether a record is of the past: one of the present goes before it if both have the name. */
  isPast?(one: T): boolean;
  /** The command that lists the records. */
  see: string;
}

export const sessions: RecordKind<Session, []> = {
  what: 'session',
  prefix: 'sess',
  all: (client) => recordsOf((query) => client.ask(endpoints.listSessions, { query })),
  idOf: ({ id }) => id,
  name: { field: 'title', of: ({ title }) => title },
  isPast: ({ status }) => status === 'closed' || status === 'failed',
  see: 'cadre sessions list',
};

export const processes: RecordKind<Process, []> = {
  what: 'process',
  prefix: 'proc',
  all: (client) => recordsOf((query) => client.ask(endpoints.listProcesses, { query })),
  idOf: ({ process_id }) => process_id,
  name: { field: 'command', of: ({ command }) => command },
  isPast: ({ ended_at }) => ended_at !== null,
  see: 'cadre processes list',
};

export const worktrees: RecordKind<Worktree, []> = {
  what: 'worktree',
  prefix: 'wt',
  all: (client) => recordsOf((query) => client.ask(endpoints.listWorktrees, { query })),
  idOf: ({ id }) => id,
  name: { field: 'name', of: ({ worktree_name }) => worktree_name },
  isPast: ({ status }) => status === 'cleaned' || status === 'missing',
  see: 'cadre worktrees list',
};

export const races: RecordKind<Race, []> = {
  what: 'race',
  prefix: 'race',
  all: (client) => recordsOf((query) => client.ask(endpoints.listRaces, { query })),
  idOf: ({ id }) => id,
  name: { field: 'name', of: ({ name }) => name },
  see: 'cadre races list',
};

export const teams: RecordKind<Team, []> = {
  what: 'team',
  prefix: 'team',
  all: (client) => recordsOf((query) => client.ask(endpoints.listTeams, { query })),
  idOf: ({ id }) => id,
  name: { field: 'name', of: ({ name }) => name },
  isPast: ({ deleted_at }) => deleted_at !== null,
  see: 'cadre teams list',
};

export const turns: RecordKind<Turn, [session: string]> = {
  what: 'turn',
  prefix: 'turn',
  all: (client, session_id) =>
    recordsOf((query) => client.ask(endpoints.listTurns, { params: { session_id }, query })),
  idOf: ({ turn_id }) => turn_id,
  see: 'cadre sessions turns',
};

export const rules: RecordKind<ApprovalRule, []> = {
  what: 'rule',
  prefix: 'rule',
  all: (client) => recordsOf((query) => client.ask(endpoints.listApprovalRules, { query })),
  idOf: ({ id }) => id,
  see: 'cadre approvals rules list',
};

export const tokens: RecordKind<Token, []> = {
  what: 'token',
  prefix: 'tok',
  all: (client) => recordsOf((query) => client.ask(endpoints.listTokens, { query })),
  idOf: ({ id }) => id,
  name: { field: 'name', of: ({ name }) => name },
  see: 'cadre tokens list',
};

export const queueEntries: RecordKind<QueueEntry, []> = {
  what: 'queue entry',
  prefix: 'que',
  all: (client) => recordsOf((query) => client.ask(endpoints.listQueue, { query })),
  idOf: ({ id }) => id,
  name: { field: 'name', of: ({ name }) => name },
  see: 'cadre queue list',
};

export const budgets: RecordKind<Budget, []> = {
  what: 'budget',
  prefix: 'bud',
  all: (client) => recordsOf((query) => client.ask(endpoints.listBudgets, { query })),
  idOf: ({ id }) => id,
  see: 'cadre budgets list',
};

export const approvals: RecordKind<Approval, [status: Approval['status']]> = {
  what: 'approval',
  prefix: 'apr',
  all: (client, status) =>
    recordsOf((query) => client.ask(endpoints.listApprovals, { query: { ...query, status } })),
  idOf: ({ id }) => id,
  see: 'cadre approvals list',
};

export const members: RecordKind<Member, [team: string]> = {
  what: 'member',
  prefix: 'sess',
  async *all(client, team_id) {
    yield* (await client.call(endpoints.getTeam, { params: { team_id } })).members;
  },
  idOf: ({ agent_id }) => agent_id,
  name: { field: 'title', of: ({ title }) => title },
  see: 'cadre teams show',
};

export const comments: RecordKind<ReviewComment, [session: string]> = {
  what: 'comment',
  prefix: 'cmt',
  async *all(client, session_id) {
    yield* (await client.call(endpoints.getReview, { params: { session_id } })).comments;
  },
  idOf: ({ id }) => id,
  see: 'cadre review show',
};

export const deliveries: RecordKind<Delivery, [team: string]> = {
  what: 'delivery',
  prefix: 'dlv',
  all: (client, team_id) =>
    recordsOf((query) => client.ask(endpoints.listDeliveries, { params: { team_id }, query })),
  idOf: ({ id }) => id,
  see: 'cadre teams deliveries',
};

export const messages: RecordKind<Message, [team: string]> = {
  what: 'message',
  prefix: 'msg',
  all: (client, team_id) =>
    recordsOf((query) => client.ask(endpoints.listMessages, { params: { team_id }, query })),
  idOf: ({ id }) => id,
  see: 'cadre teams messages',
};
