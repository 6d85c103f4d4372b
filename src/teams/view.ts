import type { QueryOf } from '../api/endpoint.ts';
import type { StoredInputItem } from '../api/sessions.ts';
import type { getTeamView, Member, MemberRow, Message, TeamView } from '../api/teams.ts';
import { shorten } from '../lib/shorten.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import type { TeamStore } from './store.ts';
import { contextRemaining, stateOf } from './team.ts';

/** So many characters of a message are shown beside its sender or recipient. */
const EXCERPT_CHARACTERS = 200;

/** A team as people and agents look at it, at one moment. */
export class TeamViews {
  readonly #db: Database;
  readonly #store: TeamStore;
  readonly #sessions: SessionStore;
  readonly #worktrees: WorktreeStore;

  constructor(given: {
    db: Database;
    store: TeamStore;
    sessions: SessionStore;
    worktrees: WorktreeStore;
  }) {
    this.#db = given.db;
    this.#store = given.store;
    this.#sessions = given.sessions;
    this.#worktrees = given.worktrees;
  }

  view(
    teamId: string,
    { include_delivery_map, message_limit }: QueryOf<typeof getTeamView>,
  ): Promise<TeamView> {
    return this.#db.read(() => {
      const team = this.#store.team(teamId);
      const messages =
        message_limit === 0
          ? []
          : this.#store.messages.page({ team_id: teamId }, message_limit).records;
      const deliveries = messages.map(({ id }) => [id, this.#store.deliveriesOf(id)] as const);
      return {
        team,
        members: this.#store.members(teamId).map((member) => this.#row(member)),
        messages,
        deliveries_by_message_id: include_delivery_map ? Object.fromEntries(deliveries) : null,
        // What the open group holds may be seen above: it is told of again, never missed.
        latest_seq: this.#db.durableSeq,
      };
    });
  }

  #row(member: Member): MemberRow {
    const { team_id, agent_id } = member;
    const session = this.#sessions.session(agent_id);
    const worktreeId = member.worktree_id ?? session.worktree_id;
    return {
      ...member,
      state: stateOf(session),
      worktree: worktreeId === null ? null : this.#worktrees.worktree(worktreeId),
      last_message: this.#lastMessage(member),
      context_window_remaining_percentage: contextRemaining(
        this.#sessions.newestWithContext(agent_id),
      ),
      pending_deliveries: this.#store.waitingCount(team_id, agent_id),
    };
  }

  #lastMessage({ team_id, agent_id }: Member): MemberRow['last_message'] {
    const sent = this.#store.lastSent(team_id, agent_id);
    const received = this.#store.lastReceived(team_id, agent_id);
    const isSent = sent !== undefined && (!received || sent.id >= received.id);
    const last = isSent ? sent : received;
    if (!last) return null;
    return {
      message_id: last.id,
      direction: isSent ? 'sent' : 'received',
      sender_agent_id: last.sender_agent_id,
      text: excerpt(last),
      created_at: last.created_at,
    };
  }
}

function excerpt({ input }: Message): string {
  const items: StoredInputItem[] = Array.isArray(input) ? input : [input];
  const text = items.map((item) => ('text' in item ? String(item.text) : '')).join('\n');
  return shorten(text, EXCERPT_CHARACTERS);
}
