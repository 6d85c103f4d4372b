import type { EventKind } from '../api/events.ts';
import type { Delivery, Message } from '../api/team-messages.ts';
import type { Member, Team } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import type { Statement } from '../store/statement.ts';
import { assertNotDeleted } from './team.ts';

/** A member that is being spawned. */
export interface Spawn {
  id: string;
  team_id: string;
  source_session_id: string;
  /** An agent wants it; absent in records of older versions. */
  by_agent?: boolean;
}

/** The rows of teams. Each change is written with the event that tells of it. */
export class TeamStore {
  readonly teams: RecordTable<Team>;
  readonly messages: RecordTable<Message>;
  readonly deliveries: RecordTable<Delivery>;
  readonly spawns: RecordTable<Spawn>;
  readonly #members: RecordTable<Member>;
  readonly #log: EventLog;
  readonly #hops: Statement<[number]>;
  readonly #setHops: Statement;
  readonly #rootOf: Statement<[string]>;
  readonly #setRoot: Statement;
  readonly #liveOf: Statement<[number]>;
  readonly #agents: Statement<[id: string]>;
  readonly #waitingOf: Statement<[number]>;
  readonly #unfinished: Statement<[messageId: string]>;
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
    this.#hops = db.prepare('SELECT hops FROM team_hops WHERE team_id = ?');
    this.#setHops = db.prepare('INSERT OR REPLACE INTO team_hops (team_id, hops) VALUES (?, ?)');
    this.#rootOf = db.prepare('SELECT root_id FROM spawned_sessions WHERE session_id = ?');
    this.#setRoot = db.prepare('INSERT INTO spawned_sessions (session_id, root_id) VALUES (?, ?)');
    this.#liveOf = db.prepare(
      `SELECT count(*) FROM spawned_sessions JOIN sessions ON sessions.id = spawned_sessions.session_id
       WHERE root_id = ? AND sessions.status NOT IN ('closed', 'failed')`,
    );
    this.#agents = db.prepare('SELECT id FROM team_members WHERE team_id = ? ORDER BY n');
    // What waits for a session is few beside what waits in a large team.
    this.#waitingOf = db.prepare(
      `SELECT count(*) FROM inbox INDEXED BY inbox_waiting
       CROSS JOIN team_deliveries ON team_deliveries.id = inbox.ref
       WHERE inbox.session_id = ? AND inbox.turn_id IS NULL AND inbox.owner = 'team'
       AND team_deliveries.team_id = ?`,
    );
    this.#unfinished = db.prepare(
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

  /** Throws `not_found`. */
  team(id: string): Team {
    const team = this.teams.get(id);
    if (team) return team;
    throw new AppError('not_found', `no team "${id}"`);
  }

  /** A team that may change. Throws `not_found`, `team_deleted`. */
  openTeam(id: string): Team {
    const team = this.team(id);
    assertNotDeleted(team);
    return team;
  }

  /** Throws `not_found`, also for another team's message. */
  message(teamId: string, id: string): Message {
    this.team(teamId);
    const message = this.messages.get(id);
    if (message?.team_id === teamId) return message;
    throw new AppError('not_found', `team "${teamId}" has no message "${id}"`);
  }

  /** Throws `not_found`, also for another team's delivery. */
  delivery(teamId: string, id: string): Delivery {
    this.team(teamId);
    const delivery = this.deliveries.get(id);
    if (delivery?.team_id === teamId) return delivery;
    throw new AppError('not_found', `team "${teamId}" has no delivery "${id}"`);
  }

  /** In the order in which they joined. */
  members(teamId: string): Member[] {
    return this.#members.where('team_id = ?', teamId);
  }

  /** The sessions that are in a team, in the order in which they joined. */
  agents(teamId: string): string[] {
    return this.#agents.all(teamId).map(([id]) => id.slice(teamId.length + 1));
  }

  /** What a session is in a team, if it is in it. */
  member(teamId: string, agentId: string): Member | undefined {
    return this.#members.get(memberId({ team_id: teamId, agent_id: agentId }));
  }

  /** The teams, not deleted, that a session is in. */
  teamsOf(agentId: string): Team[] {
    return this.#members
      .where('agent_id = ?', agentId)
      .map(({ team_id }) => this.team(team_id))
      .filter(({ deleted_at }) => deleted_at === null);
  }

  createTeam(team: Team): void {
    this.teams.insert(team);
    this.#append('team.created', team.id, { team });
  }

  updateTeam(team: Team, kind: EventKind): void {
    this.teams.update(team);
    this.#append(kind, team.id, { team });
  }

  /** `operationId`: the spawn that made it a member; null: it was there before. */
  addMember(member: Member, operation_id: string | null = null): void {
    this.#members.insert(member);
    this.#appendOf('team.member_joined', member, { member, operation_id });
  }

  removeMember(member: Member): void {
    this.#members.deleteWhere('id = ?', memberId(member));
    this.#appendOf('team.member_left', member, { member });
  }

  createMessage(message: Message): void {
    this.messages.insert(message);
    this.#append('team.message_created', message.team_id, { message });
  }

  cancelMessage(message: Message): void {
    this.messages.update(message);
    const { input: _input, images: _images, ...rest } = message;
    this.#append('team.message_cancelled', message.team_id, { message: rest });
  }

  createDelivery(delivery: Delivery): void {
    this.deliveries.insert(delivery);
    this.#appendDelivery('delivery.pending', delivery);
  }

  /** Writes a delivery that moved on; the event is named by its status where nothing else is said. */
  moveDelivery(delivery: Delivery, kind: EventKind = `delivery.${delivery.status}`): void {
    this.deliveries.update(delivery);
    this.#appendDelivery(kind, delivery);
  }

  deliveriesOf(messageId: string): Delivery[] {
    return this.deliveries.where('message_id = ?', messageId);
  }

  /** The same by their ids alone. */
  deliveryIdsOf(messageId: string): string[] {
    return this.#deliveryIds.all(messageId).map(([id]) => id);
  }

  /** Messages some of whose deliveries are held back: a broadcast under way, or a limit of hops. */
  heldMessages(): Message[] {
    return this.#unfinished
      .all()
      .map(([id]) => this.messages.get(id))
      .filter((message) => message !== undefined);
  }

  /** What waits in a team, oldest first. */
  waitingIn(teamId: string): Delivery[] {
    return this.deliveries.where("team_id = ? AND status IN ('pending', 'deferred')", teamId);
  }

  waitingCount(teamId: string, agentId: string): number {
    return this.#waitingOf.get(agentId, teamId)?.[0] ?? 0;
  }

  /** What a member last said in a team. */
  lastSent(teamId: string, agentId: string): Message | undefined {
    const where = 'team_id = ? AND sender_agent_id = ?';
    const order = { index: 'team_messages_sender', where, order: 'n DESC' };
    return this.messages.first(order, 1, teamId, agentId)[0];
  }

  /** The message that was last sent to a member in a team. */
  lastReceivedId(teamId: string, agentId: string): string | undefined {
    const where = 'team_id = ? AND recipient_agent_id = ?';
    const order = { index: 'team_deliveries_recipient', where, order: 'n DESC' };
    const [delivery] = this.deliveries.first(order, 1, teamId, agentId);
    return delivery?.message_id;
  }

  allWaitingCount(): number {
    return this.#waiting.get()?.[0] ?? 0;
  }

  /** All that waits, oldest first. */
  allWaiting(): Delivery[] {
    return this.deliveries.where("status IN ('pending', 'deferred')");
  }

  /** How many messages agents have sent since a person last spoke to one of them. */
  hops(teamId: string): number {
    return this.#hops.get(teamId)?.[0] ?? 0;
  }

  setHops(teamId: string, hops: number): void {
    this.#setHops.run(teamId, hops);
  }

  /** The session that began the family of spawned sessions that this one belongs to: itself, where no agent spawned it. */
  rootOf(sessionId: string): string {
    return this.#rootOf.get(sessionId)?.[0] ?? sessionId;
  }

  /** Notes that the agent of one session has spawned another. */
  noteSpawned(sessionId: string, by: string): void {
    this.#setRoot.run(sessionId, this.rootOf(by));
  }

  /** How many sessions of a family live, or are being spawned; its root and the spawn `but` do not count. */
  familySize(rootId: string, but: string): number {
    const underWay = this.unfinishedSpawns().filter(
      ({ id, by_agent, source_session_id: source }) =>
        by_agent === true && id !== but && this.rootOf(source) === rootId,
    );
    return (this.#liveOf.get(rootId)?.[0] ?? 0) + underWay.length;
  }

  /** Members whose spawning a dead server left undone, oldest first. */
  unfinishedSpawns(): Spawn[] {
    return this.spawns.where('TRUE');
  }

  endSpawn({ id }: Spawn): void {
    this.spawns.deleteWhere('id = ?', id);
  }

  tellSpawnFailed({ id, team_id }: Spawn, error: { code: string; message: string }): void {
    this.#append('team.spawn_failed', team_id, { operation_id: id, error });
  }

  counts(): {
    teams: number;
    messages: number;
    spawns_under_way: number;
    deliveries: Record<string, number>;
  } {
    const [teams, messages, spawns_under_way] = this.#totals.get() ?? [0, 0, 0];
    return {
      teams,
      messages,
      spawns_under_way,
      deliveries: Object.fromEntries(this.#counts.all()),
    };
  }

  #append(kind: EventKind, team_id: string, payload: Record<string, unknown>): void {
    this.#log.append({ kind, team_id, payload });
  }

  #appendOf(kind: EventKind, { team_id, agent_id }: Member, payload: Record<string, unknown>) {
    this.#log.append({ kind, team_id, session_id: agent_id, payload });
  }

  #appendDelivery(kind: EventKind, delivery: Delivery): void {
    const { team_id, recipient_agent_id: session_id, injected_turn_id: turn_id } = delivery;
    this.#log.append({ kind, team_id, session_id, turn_id, payload: { delivery } });
  }
}

function memberId({ team_id, agent_id }: Pick<Member, 'team_id' | 'agent_id'>): string {
  return `${team_id}/${agent_id}`;
}
