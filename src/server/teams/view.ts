import type { QueryOf } from '../../api/endpoint.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import type { MemberView, TeamView, getTeamView } from '../../api/team-view.ts';
import type { Member, Team } from '../../api/teams.ts';
import { invalidError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { jsonInSlices, yieldToEventLoop, runSlice } from '../../core/lib/slices.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import type { WorktreeStore } from '../work/worktrees/store.ts';
import type { TeamStore } from './store.ts';
import { contextRemaining, memberStateOf } from './team.ts';
import type { RecordPage, RecordTable } from '../../core/store/records.ts';
import type { Reader } from '../../core/store/transaction.ts';
import type { StoredInputItem } from '../../api/input.ts';

const EXCERPT_CHARACTERS = 200;

/** The number of messages in one read. It is small because a message to a large team names all its recipients. */
const MESSAGES_AT_ONCE = 8;
const DELIVERIES_AT_ONCE = 200;
/** The maximum number of members in a part of a view, and of the newest deliveries of each message. */
const PART_MEMBERS = 200;
const PART_DELIVERIES = 20;

export interface TeamPart {
  team: Team;
  member_count: number;
  from: number;
  members: MemberView[];
  /** Newest first, each with the cursor of the messages before it; null: there are none. */
  messages: { message: Message; next: string | null }[];
  deliveries: [messageId: string, deliveries: Delivery[]][];
  latest_seq: number;
}

interface TeamViewsDeps extends Pick<ServerParts, 'db' | 'clock'> {
  store: TeamStore;
  sessionStore: SessionStore;
  worktrees: WorktreeStore;
  /** Whether the agent of a session has taken the tools of cadre; null if that is unknown. */
  offers: { isTaken: (sessionId: string) => boolean | null };
}

/**
 * Views of teams, for people and agents. A team is read in slices, yielding to the event loop between them. A change
 * meanwhile may be in the view or not, but always has an event after `latest_seq`.
 */
export class TeamViews {
  readonly #deps: TeamViewsDeps;

  constructor(deps: TeamViewsDeps) {
    this.#deps = deps;
  }

  async view(
    teamId: string,
    { include_delivery_map, message_limit }: QueryOf<typeof getTeamView>,
  ): Promise<TeamView> {
    const { team, agents, latest_seq } = await this.#start(teamId);
    const members = await this.#members(teamId, agents);
    const messages = await this.#messages(teamId, message_limit);
    const deliveries: Record<string, Delivery[]> = {};
    if (include_delivery_map)
      for (const { id } of messages) deliveries[id] = await this.#deliveries(id);
    const deliveries_by_message_id = include_delivery_map ? deliveries : null;
    return { team, members, messages, deliveries_by_message_id, latest_seq };
  }

  /** Resolves with a bounded part of a view. Throws `invalid` if `afterMember` is not a member. */
  async part(
    teamId: string,
    range: {
      /** The session id of the member before the first one of the part; null: the part begins with the first. */
      afterMember: string | null;
      messageLimit: number;
      messageCursor: string | undefined;
    },
  ): Promise<TeamPart> {
    const { team, agents, latest_seq } = await this.#start(teamId);
    const { afterMember } = range;
    const from = afterMember === null ? 0 : agents.indexOf(afterMember) + 1;
    if (afterMember !== null && from === 0)
      throw invalidError(
        `"${afterMember}", at which the cursor points, is no longer a member of the team: read the team again without a cursor`,
      );
    const messages = await this.#messagesFrom(teamId, range);
    const deliveries: TeamPart['deliveries'] = [];
    for (const { message } of messages) {
      const page = await this.#deps.db.read((rx) =>
        this.#deps.store.deliveries.page(rx, { message_id: message.id }, PART_DELIVERIES),
      );
      deliveries.push([message.id, page.records.toReversed()]);
    }
    const members = await this.#members(teamId, agents.slice(from, from + PART_MEMBERS));
    return { team, member_count: agents.length, from, members, messages, deliveries, latest_seq };
  }

  async #messagesFrom(
    teamId: string,
    { messageLimit, messageCursor }: { messageLimit: number; messageCursor: string | undefined },
  ): Promise<TeamPart['messages']> {
    const messages: TeamPart['messages'] = [];
    const { messages: table } = this.#deps.store;
    const pages = this.#pages(table, { team_id: teamId }, () => 1, messageCursor);
    if (messageLimit > 0)
      for await (const { records, nextCursor } of pages) {
        for (const message of records) messages.push({ message, next: nextCursor });
        if (messages.length === messageLimit) break;
      }
    return messages;
  }

  textInSlices(view: TeamView): AsyncIterable<string> {
    return jsonInSlices(this.#deps.clock, view);
  }

  #start(teamId: string): Promise<{ team: Team; agents: string[]; latest_seq: number }> {
    return this.#deps.db.read((rx) => ({
      team: this.#deps.store.team(rx, teamId),
      agents: this.#deps.store.agents(rx, teamId),
      // The reads below may see rows whose group commit is still open. Their events come after this seq, so none is
      // missed.
      latest_seq: this.#deps.db.durableSeq,
    }));
  }

  async #members(teamId: string, agents: readonly string[]): Promise<MemberView[]> {
    const rows: MemberView[] = [];
    const messageCache = new Map<string, Message>();
    for (let at = 0; at < agents.length;) {
      const from = at;
      at = await this.#deps.db.read((rx) =>
        runSlice(this.#deps.clock, agents, from, (agent) => {
          const member = this.#deps.store.member(rx, teamId, agent);
          if (member) rows.push(this.#row(rx, member, messageCache));
        }),
      );
      await yieldToEventLoop();
    }
    return rows;
  }

  async #messages(teamId: string, limit: number): Promise<Message[]> {
    const messages: Message[] = [];
    const sizeOf = () => Math.min(MESSAGES_AT_ONCE, limit - messages.length);
    for await (const page of this.#pages(this.#deps.store.messages, { team_id: teamId }, sizeOf)) {
      messages.push(...page.records);
      if (messages.length >= limit) break;
    }
    return messages;
  }

  /** Resolves with the deliveries of a message, in the order of its recipients. */
  async #deliveries(message_id: string): Promise<Delivery[]> {
    const pages = this.#pages(
      this.#deps.store.deliveries,
      { message_id },
      () => DELIVERIES_AT_ONCE,
    );
    const deliveries: Delivery[] = [];
    for await (const { records } of pages) deliveries.push(...records);
    return deliveries.toReversed();
  }

  /** Yields the pages of a table, newest first, yielding to the event loop between them. */
  async *#pages<T extends object>(
    table: RecordTable<T>,
    filter: Record<string, string>,
    sizeOf: () => number,
    cursor?: string,
  ): AsyncGenerator<RecordPage<T>, void> {
    for (let next: string | null | undefined = cursor; next !== null;) {
      const from: string | undefined = next;
      const page: RecordPage<T> = await this.#deps.db.read((rx) =>
        table.page(rx, filter, sizeOf(), from),
      );
      yield page;
      next = page.nextCursor;
      await yieldToEventLoop();
    }
  }

  #row(rx: Reader, member: Member, messageCache: Map<string, Message>): MemberView {
    const { team_id, agent_id } = member;
    const session = this.#deps.sessionStore.session(rx, agent_id);
    const worktreeId = member.worktree_id ?? session.worktree_id;
    return {
      ...member,
      state: memberStateOf(session),
      session_title: session.title,
      worktree: worktreeId === null ? null : this.#deps.worktrees.worktree(rx, worktreeId),
      last_message: this.#lastMessage(rx, member, messageCache),
      context_window_remaining_percentage: contextRemaining(
        this.#deps.sessionStore.newestWithContext(rx, agent_id),
      ),
      pending_deliveries: this.#deps.store.waitingCount(rx, team_id, agent_id),
      takes_tools: this.#deps.offers.isTaken(agent_id),
    };
  }

  /** Returns the last message from or to a member. A broadcast is the last one of many members, hence the cache. */
  #lastMessage(
    rx: Reader,
    { team_id, agent_id }: Member,
    messageCache: Map<string, Message>,
  ): MemberView['last_message'] {
    const sent = this.#deps.store.lastSent(rx, team_id, agent_id);
    const receivedId = this.#deps.store.lastReceivedId(rx, team_id, agent_id);
    const received =
      receivedId === undefined
        ? undefined
        : (messageCache.get(receivedId) ?? this.#deps.store.messages.get(rx, receivedId));
    if (received) messageCache.set(received.id, received);
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
