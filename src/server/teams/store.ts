import type { KindIn } from '../../api/events.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import type { CommsDiagnostics } from '../../api/team-view.ts';
import type { Member, Team } from '../../api/teams.ts';
import { AppError, notFoundError } from '../../api/errors.ts';
import type { EventLog } from '../../core/events/log.ts';
import type { Database } from '../../core/store/database.ts';
import { EmptyKeys } from '../../core/store/empty-keys.ts';
import { RecordTable } from '../../core/store/records.ts';
import type { Statement } from '../../core/store/statement.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';

export interface Spawn {
  id: string;
  team_id: string;
  source_session_id: string;
  /** Whether `teams.max_spawned_per_session` counts it; absent in records of older versions. */
  by_agent?: boolean;
}

/** The rows of teams. Each change is written with its event, in one transaction. */
export class TeamStore {
  readonly teams: RecordTable<Team>;
  readonly messages: RecordTable<Message>;
  readonly deliveries: RecordTable<Delivery>;
  readonly spawns: RecordTable<Spawn>;
  readonly #members: RecordTable<Member>;
  readonly #withoutTeam: EmptyKeys;
  readonly #log: EventLog;
  readonly #hops: Statement<[number]>;
  readonly #setHops: Statement;
  readonly #rootOf: Statement<[string]>;
  readonly #setRoot: Statement;
  readonly #liveOf: Statement<[number]>;
  readonly #agents: Statement<[id: string]>;
  readonly #waitingOf: Statement<[number]>;
  readonly #heldMessageIds: Statement<[messageId: string]>;
  readonly #deliveryIds: Statement<[id: string]>;
  readonly #waiting: Statement<[number]>;
  readonly #counts: Statement<[status: string, count: number]>;
  readonly #totals: Statement<[teams: number, messages: number, spawns: number]>;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.teams = new RecordTable(db, 'teams', ({ id }) => id);
    this.messages = new RecordTable(db, 'team_messages', ({ id }) => id);
    this.deliveries = new RecordTable(db, 'team_deliveries', ({ id }) => id);
    this.spawns = new RecordTable(db, 'team_spawns', ({ id }) => id);
    this.#members = new RecordTable<Member>(db, 'team_members', memberId);
    this.#withoutTeam = new EmptyKeys(db, 'team_members', 'agent_id');
    this.#hops = db.prepare('SELECT hops FROM team_hops WHERE team_id = ?');
    this.#setHops = db.prepare('INSERT OR REPLACE INTO team_hops (team_id, hops) VALUES (?, ?)');
    this.#rootOf = db.prepare('SELECT root_id FROM spawned_sessions WHERE session_id = ?');
    this.#setRoot = db.prepare('INSERT INTO spawned_sessions (session_id, root_id) VALUES (?, ?)');
    this.#liveOf = db.prepare(
      `SELECT count(*) FROM spawned_sessions JOIN sessions ON sessions.id = spawned_sessions.session_id
       WHERE root_id = ? AND sessions.status NOT IN ('closed', 'failed')`,
    );
    this.#agents = db.prepare('SELECT id FROM team_members WHERE team_id = ? ORDER BY n');
    // Starts from the inbox, because few deliveries wait for one session, but many in a large team.
    this.#waitingOf = db.prepare(
      `SELECT count(*) FROM inbox INDEXED BY inbox_waiting
       CROSS JOIN team_deliveries ON team_deliveries.id = inbox.ref
       WHERE inbox.session_id = ? AND inbox.turn_id IS NULL AND inbox.owner = 'team'
       AND team_deliveries.team_id = ?`,
    );
    this.#heldMessageIds = db.prepare(
      `SELECT DISTINCT message_id FROM team_deliveries
       WHERE id IN (SELECT ref FROM inbox WHERE owner = 'team' AND held = 1)`,
    );
    this.#deliveryIds = db.prepare(
      'SELECT id FROM team_deliveries WHERE message_id = ? ORDER BY n',
    );
    this.#waiting = db.prepare(
      "SELECT count(*) FROM team_deliveries WHERE status IN ('pending', 'deferred')",
    );
    this.#counts = db.prepare('SELECT status, count(*) FROM team_deliveries GROUP BY status');
    this.#totals = db.prepare(
      `SELECT (SELECT count(*) FROM teams), (SELECT count(*) FROM team_messages),
       (SELECT count(*) FROM team_spawns)`,
    );
  }

  /** Returns a team. Throws `not_found`. */
  team(rx: Reader, id: string): Team {
    return this.teams.require(rx, id, 'team');
  }

  /** Returns a team that is not deleted. Throws `not_found` or `team_deleted`. */
  openTeam(rx: Reader, id: string): Team {
    const team = this.team(rx, id);
    if (team.deleted_at === null) return team;
    throw new AppError('team_deleted', `team ${team.id} was deleted: create another team`);
  }

  /** Returns the teams with a name that are not deleted, oldest first. */
  openTeamsNamed(rx: Reader, name: string): Team[] {
    const isOpen = "record ->> '$.deleted_at' IS NULL";
    return this.teams.where(rx, `record ->> '$.name' = ? AND ${isOpen}`, name);
  }

  /** Returns a message of the team. Throws `not_found`, also for another team's message. */
  message(rx: Reader, teamId: string, id: string): Message {
    this.team(rx, teamId);
    const message = this.messages.get(rx, id);
    if (message?.team_id === teamId) return message;
    throw notFoundError(`team "${teamId}" has no message "${id}"`);
  }

  /** Returns a delivery of the team. Throws `not_found`, also for another team's delivery. */
  delivery(rx: Reader, teamId: string, id: string): Delivery {
    this.team(rx, teamId);
    const delivery = this.deliveries.get(rx, id);
    if (delivery?.team_id === teamId) return delivery;
    throw notFoundError(`team "${teamId}" has no delivery "${id}"`);
  }

  /** Returns the members of a team, in the order in which they joined. */
  members(rx: Reader, teamId: string): Member[] {
    return this.#members.where(rx, 'team_id = ?', teamId);
  }

  /** Returns the ids of the sessions in a team, in the order in which they joined. */
  agents(rx: Reader, teamId: string): string[] {
    return this.#agents.all(rx, teamId).map(([id]) => id.slice(teamId.length + 1));
  }

  /** Returns the ids of the sessions in a team, in the order in which they joined. Throws `not_found`. */
  agentsOf(rx: Reader, teamId: string): string[] {
    return this.agents(rx, this.team(rx, teamId).id);
  }

  nameOf(rx: Reader, teamId: string): string | null {
    return this.teams.get(rx, teamId)?.name ?? null;
  }

  member(rx: Reader, teamId: string, agentId: string): Member | undefined {
    return this.#members.get(rx, memberId({ team_id: teamId, agent_id: agentId }));
  }

  /** Returns the teams that a session is in, without deleted ones. */
  teamsOf(rx: Reader, agentId: string): Team[] {
    if (this.#withoutTeam.has(rx, agentId)) return [];
    return this.#members
      .where(rx, 'agent_id = ?', agentId)
      .map(({ team_id }) => this.team(rx, team_id))
      .filter(({ deleted_at }) => deleted_at === null);
  }

  createTeam(tx: Writer, team: Team): void {
    this.teams.insert(tx, team);
    this.#log.append(tx, { kind: 'team.created', team_id: team.id, payload: { team } });
  }

  updateTeam(tx: Writer, team: Team, kind: 'team.deleted' | 'team.lead_changed'): void {
    this.teams.update(tx, team);
    this.#log.append(tx, { kind, team_id: team.id, payload: { team } });
  }

  /** Adds a member. `operation_id` is the spawn that opened the member's session; null: the session was open before. */
  addMember(tx: Writer, member: Member, operation_id: string | null = null): void {
    this.#withoutTeam.delete(member.agent_id);
    this.#members.insert(tx, member);
    const payload = { member, operation_id };
    this.#log.append(tx, { kind: 'team.member_joined', ...idsOf(member), payload });
  }

  removeMember(tx: Writer, member: Member): void {
    this.#members.delete(tx, memberId(member));
    this.#log.append(tx, { kind: 'team.member_left', ...idsOf(member), payload: { member } });
  }

  createMessage(tx: Writer, message: Message): void {
    this.messages.insert(tx, message);
    const { team_id } = message;
    this.#log.append(tx, { kind: 'team.message_created', team_id, payload: { message } });
  }

  cancelMessage(tx: Writer, message: Message): void {
    this.messages.update(tx, message);
    const { input: _input, images: _images, ...rest } = message;
    const { team_id } = message;
    this.#log.append(tx, { kind: 'team.message_cancelled', team_id, payload: { message: rest } });
  }

  createDelivery(tx: Writer, delivery: Delivery): void {
    this.deliveries.insert(tx, delivery);
    this.#appendDelivery(tx, 'delivery.pending', delivery);
  }

  /** Writes a delivery in its new state. By default the event is named after its status. */
  moveDelivery(
    tx: Writer,
    delivery: Delivery,
    kind: KindIn<'delivery'> = `delivery.${delivery.status}`,
  ): void {
    this.deliveries.update(tx, delivery);
    this.#appendDelivery(tx, kind, delivery);
  }

  deliveriesOf(rx: Reader, messageId: string): Delivery[] {
    return this.deliveries.where(rx, 'message_id = ?', messageId);
  }

  /** Returns the ids of the deliveries of a message, in the order of its recipients. */
  deliveryIdsOf(rx: Reader, messageId: string): string[] {
    return this.#deliveryIds.all(rx, messageId).map(([id]) => id);
  }

  /** Returns the messages with held deliveries: broadcasts under way, and messages that exceeded the limit of hops. */
  heldMessages(rx: Reader): Message[] {
    return this.#heldMessageIds
      .all(rx)
      .map(([id]) => this.messages.get(rx, id))
      .filter((message) => message !== undefined);
  }

  /** Returns the waiting deliveries of a team, oldest first. */
  waitingIn(rx: Reader, teamId: string): Delivery[] {
    return this.deliveries.where(rx, "team_id = ? AND status IN ('pending', 'deferred')", teamId);
  }

  waitingCount(rx: Reader, teamId: string, agentId: string): number {
    return this.#waitingOf.get(rx, agentId, teamId)?.[0] ?? 0;
  }

  lastSent(rx: Reader, teamId: string, agentId: string): Message | undefined {
    const where = 'team_id = ? AND sender_agent_id = ?';
    const order = { index: 'team_messages_sender', where, order: 'n DESC' };
    return this.messages.first(rx, order, 1, teamId, agentId)[0];
  }

  lastReceivedId(rx: Reader, teamId: string, agentId: string): string | undefined {
    const where = 'team_id = ? AND recipient_agent_id = ?';
    const order = { index: 'team_deliveries_recipient', where, order: 'n DESC' };
    const [delivery] = this.deliveries.first(rx, order, 1, teamId, agentId);
    return delivery?.message_id;
  }

  allWaitingCount(rx: Reader): number {
    return this.#waiting.get(rx)?.[0] ?? 0;
  }

  allWaiting(rx: Reader): Delivery[] {
    return this.deliveries.where(rx, "status IN ('pending', 'deferred')");
  }

  /** Returns how many messages agents have sent since a person last sent a turn to a member. */
  hops(rx: Reader, teamId: string): number {
    return this.#hops.get(rx, teamId)?.[0] ?? 0;
  }

  setHops(tx: Writer, teamId: string, hops: number): void {
    this.#setHops.run(tx, teamId, hops);
  }

  /** Returns the root of a session's family of spawned sessions: the session itself if no agent spawned it. */
  rootOf(rx: Reader, sessionId: string): string {
    return this.#rootOf.get(rx, sessionId)?.[0] ?? sessionId;
  }

  /** Stores that the agent of the session `by` has spawned another session. */
  insertSpawned(tx: Writer, sessionId: string, by: string): void {
    this.#setRoot.run(tx, sessionId, this.rootOf(tx, by));
  }

  /** Returns how many sessions of a family are open or being spawned, without its root and the spawn `exceptId`. */
  familySize(rx: Reader, rootId: string, exceptId: string): number {
    const underWay = this.unfinishedSpawns(rx).filter(
      ({ id, by_agent, source_session_id: source }) =>
        by_agent === true && id !== exceptId && this.rootOf(rx, source) === rootId,
    );
    return (this.#liveOf.get(rx, rootId)?.[0] ?? 0) + underWay.length;
  }

  /** Returns the spawns with a worktree that are under way, or that the previous run left. */
  unfinishedSpawns(rx: Reader): Spawn[] {
    return this.spawns.where(rx, 'TRUE');
  }

  endSpawn(tx: Writer, { id }: Spawn): void {
    this.spawns.delete(tx, id);
  }

  appendSpawnFailed(
    tx: Writer,
    { id, team_id }: Spawn,
    error: { code: string; message: string },
  ): void {
    const payload = { operation_id: id, error };
    this.#log.append(tx, { kind: 'team.spawn_failed', team_id, payload });
  }

  counts(rx: Reader): CommsDiagnostics {
    const [teams, messages, spawns_under_way] = this.#totals.get(rx) ?? [0, 0, 0];
    return {
      teams,
      messages,
      spawns_under_way,
      deliveries: Object.fromEntries(this.#counts.all(rx)),
    };
  }

  #appendDelivery(tx: Writer, kind: KindIn<'delivery'>, delivery: Delivery): void {
    const { team_id, recipient_agent_id: session_id, injected_turn_id: turn_id } = delivery;
    this.#log.append(tx, { kind, team_id, session_id, turn_id, payload: { delivery } });
  }
}

function idsOf({ team_id, agent_id: session_id }: Member) {
  return { team_id, session_id };
}

function memberId({ team_id, agent_id }: Pick<Member, 'team_id' | 'agent_id'>): string {
  return `${team_id}/${agent_id}`;
}
