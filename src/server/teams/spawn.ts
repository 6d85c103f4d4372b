import type { BodyOf } from '../../api/endpoint.ts';
import { agentProvider, type ProviderId } from '../../api/provider-kinds.ts';
import type { Session } from '../../api/sessions.ts';
import type { SpawnedMember, spawnMember, Team } from '../../api/teams.ts';
import { AppError, conflictError, invalidError, recordedError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { NewSession, SessionService } from '../conversations/sessions/service.ts';
import type { Worktree } from '../../api/worktrees.ts';
import { OneAtATime } from '../../core/lib/one-at-a-time.ts';
import { inheritedModes, type Modes } from '../conversations/sessions/permission-mode.ts';
import { assertOpen, titleFrom } from '../conversations/sessions/session.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import { workingDirectory } from '../conversations/sessions/working-directory.ts';
import type { Claims } from '../work/worktrees/claims.ts';
import type { WorktreeService } from '../work/worktrees/service.ts';
import type { WorktreeStore } from '../work/worktrees/store.ts';
import { imagesAt, type MessageContent, type MessageService } from './messages.ts';
import type { Spawn, TeamStore } from './store.ts';
import { memberIn, newMember, type ModelPreset, presetOf, withPreset } from './team.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';
import type { InputItem } from '../../api/input.ts';

type SpawnRequest = BodyOf<typeof spawnMember>;

/** The agent that requests a member. */
export interface Spawner {
  /** The modes of its turn, which the member inherits. */
  modes: Modes;
  /** Whether the member counts towards `teams.max_spawned_per_session`. A member spawned by the operator does not. */
  isLimited: boolean;
  /** Called once every other check has passed. Throws if the agent may not have the member. */
  admit: () => Promise<Admission>;
}

/** The parts of a spawn that were approved with the member. */
export interface Admission {
  images: InputItem[];
  /** Whether the init script of the worktree runs this time, even if nobody has consented to its content. */
  runsScript: boolean;
}

interface SpawnServiceDeps extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'logger' | 'failpoint'
> {
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  messages: MessageService;
  worktrees: WorktreeService;
  worktreeStore: WorktreeStore;
  claims: Claims;
  presets: () => readonly ModelPreset[];
  /** Returns the name of the agent of a new session, where agents have names. Throws `invalid` for an unknown one. */
  agentFor: (provider: ProviderId, asked: string | null) => string | null;
  /** The maximum number of open sessions in one family of sessions that agents have spawned. */
  maxSpawned: () => number;
}

/** Opens sessions as members of teams. Session, worktree, member and first message are all created, or none is. */
export class SpawnService {
  readonly #deps: SpawnServiceDeps;
  readonly #underWay = new OneAtATime();

  constructor(deps: SpawnServiceDeps) {
    this.#deps = deps;
  }

  async spawn(
    teamId: string,
    request: SpawnRequest,
    saveResponse?: SaveResponse,
  ): Promise<SpawnedMember> {
    return (await this.#begin(teamId, request, null, saveResponse)).done;
  }

  /** Begins to spawn a member for an agent. `done` resolves with the member. Throws `too_many` if the family is full. */
  beginAsAgent(
    teamId: string,
    request: SpawnRequest,
    spawner: Spawner,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    return this.#begin(teamId, request, spawner);
  }

  async #begin(
    teamId: string,
    request: SpawnRequest,
    spawner: Spawner | null,
    saveResponse?: SaveResponse,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    const spawn: Spawn = {
      id: this.#deps.ids.next('op'),
      team_id: teamId,
      source_session_id: request.source_session_id,
      by_agent: spawner?.isLimited ?? false,
    };
    const { team, source } = await this.#deps.db.read((rx) => this.#check(rx, spawn));
    const draft = () => this.#deps.sessions.draft(this.#sessionFor(request, source, spawner));
    const image_paths = request.image_paths ?? [];
    const { provider } = await draft();
    if (image_paths.length > 0) this.#deps.messages.assertAcceptImages(provider);
    assertNamed(request);
    const { images, runsScript } = spawner
      ? await spawner.admit()
      : { images: imagesAt(image_paths), runsScript: false };
    const approved = runsScript ? withInitScript(request) : request;
    // Provider and settings are checked again, because they may have changed while a person was asked.
    const session = await draft();
    const text = request.prompt ?? `You are now a member of team "${team.name}".`;
    const content = await this.#deps.messages.copyImages(source.id, { type: 'text', text }, images);
    // Without a worktree, all is one transaction, so nothing would have to be undone after a crash.
    if (wantsWorktree(request))
      await this.#deps.db.transact((tx) => {
        this.#check(tx, spawn);
        this.#deps.store.spawns.insert(tx, spawn);
      });
    this.#deps.failpoint('spawn.begun');
    const done = this.#underWay.run(spawn.id, () =>
      this.#undoOnError(spawn, () =>
        this.#inWorkplace(spawn, approved, spawner, async (workplace) => {
          const cwd = await workingDirectory(workplace.worktree?.path ?? session.cwd);
          this.#deps.failpoint('spawn.prepared');
          return this.#deps.db.transact((tx) => {
            const parts = { session: { ...session, cwd }, content, ...workplace };
            return this.#join(tx, spawn, request, parts);
          }, saveResponse);
        }),
      ),
    );
    // The caller that awaits `done` handles its rejection. Without a caller it must not count as unhandled.
    done.catch(() => undefined);
    return { operation_id: spawn.id, done };
  }

  /** Ends the spawns that the last run left, after {@link WorktreeService.undoUnused} has removed their worktrees. */
  async undoUnfinished(): Promise<void> {
    const error = {
      code: 'runtime_restarted',
      message: 'the server died before the new team member was ready',
    };
    for (const spawn of await this.#deps.db.read((rx) => this.#deps.store.unfinishedSpawns(rx)))
      await this.#underWay.run(spawn.id, () => this.#undo(spawn, error));
  }

  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Returns the request for the member's session. The source session or its turn supplies omitted settings. */
  #sessionFor(request: SpawnRequest, source: Session, spawner: Spawner | null): NewSession {
    const preset = presetOf(request, this.#deps.presets());
    const { provider, agent: asked } = servedBy(request, source, preset);
    const agent = this.#deps.agentFor(provider, asked);
    const isSame = provider === source.provider && agent === source.agent;
    // One agent's model names mean nothing to another.
    const inherited = isSame ? source : { model: null, thinking_effort: null };
    const modes = spawner
      ? inheritedModes(spawner.modes, isSame, preset?.agent_mode ?? null)
      : requestedModes(request, preset, source, isSame);
    return {
      provider,
      agent,
      model: preset ? preset.model : (request.model ?? inherited.model),
      thinking_effort: preset ? preset.thinking_effort : inherited.thinking_effort,
      cwd: source.cwd,
      permission_mode: modes.mode,
      agent_mode: modes.agentMode,
      metadata: preset ? withPreset(request.metadata, preset) : request.metadata,
      title: request.title ?? titleFrom(request.prompt),
      sandbox: source.sandbox,
    };
  }

  /** Runs `join` with the workplace of the member. No session claims the worktree before that. */
  async #inWorkplace<T>(
    spawn: Spawn,
    { worktree: requested }: SpawnRequest,
    spawner: Spawner | null,
    join: (workplace: Workplace) => Promise<T>,
  ): Promise<T> {
    const { id, team_id, source_session_id } = spawn;
    if (!requested || !wantsWorktree({ worktree: requested }))
      return join({ worktree: null, created: false });
    const { mode, name, ...settings } = requested;
    const worktree_name = name ?? `agent-${id.slice(-8)}`;
    const worktreeRequest = {
      ...settings,
      worktree_name,
      source_session_id,
      team_id,
      operation_id: id,
    };
    return this.#deps.worktrees.use(worktreeRequest, async (worktree, created) => {
      if (mode === 'create' && !created)
        throw conflictError(
          `worktree ${worktree_name} already exists: reuse the worktree, or choose another name`,
        );
      if (!created && spawner?.isLimited)
        await this.#deps.db.read((rx) => this.#assertOfTeam(rx, spawn, worktree));
      return join({ worktree, created });
    });
  }

  /** Throws `conflict` unless a member of the team works in a worktree. Members may write each other's files, others' not. */
  #assertOfTeam(rx: Reader, { team_id }: Spawn, { id, worktree_name }: Worktree): void {
    const { store, worktreeStore } = this.#deps;
    const members = new Set(store.members(rx, team_id).map(({ agent_id }) => agent_id));
    const claims = worktreeStore.activeClaimsOn(rx, id);
    if (claims.some(({ session_id }) => members.has(session_id))) return;
    throw conflictError(
      `worktree ${worktree_name} already exists, and no member of the team has a claim on it: choose another name`,
    );
  }

  /** Stores session, member and first message, which is the last step of a spawn. */
  #join(
    tx: Writer,
    spawn: Spawn,
    request: SpawnRequest,
    parts: { session: Session; content: MessageContent } & Workplace,
  ): SpawnedMember {
    const { session, content, worktree, created } = parts;
    const { team, source } = this.#check(tx, spawn);
    const { id } = session;
    this.#deps.sessionStore.createSession(tx, session);
    if (spawn.by_agent) this.#deps.store.insertSpawned(tx, id, source.id);
    if (worktree) this.#deps.claims.make(tx, worktree.id, id, created ? 'owner' : 'consumer');
    const member = newMember(
      team,
      { agent_id: id, title: request.title, added_by: source.id, worktree_id: worktree?.id },
      this.#deps.clock.now(),
    );
    this.#deps.store.addMember(tx, member, spawn.id);
    const { message, deliveries } = this.#deps.messages.store(tx, team, {
      sender_agent_id: source.id,
      recipient_agent_id: id,
      recipients: [id],
      image_paths: request.image_paths,
      content,
      onboarding: true,
    });
    this.#deps.store.endSpawn(tx, spawn);
    return {
      operation_id: spawn.id,
      team,
      session: this.#deps.sessionStore.session(tx, id),
      member,
      worktree: worktree && this.#deps.worktreeStore.worktree(tx, worktree.id),
      onboarding: { message_id: message.id, delivery_ids: deliveries.map((one) => one.id) },
    };
  }

  async #undoOnError<T>(spawn: Spawn, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#undo(spawn, recordedError(error)).catch((failure: unknown) =>
        this.#deps.logger.error({ err: failure, operation_id: spawn.id }, 'cannot undo a spawn'),
      );
      throw error;
    }
  }

  /** Appends `team.spawn_failed`. A worktree that was made for the spawn has been removed by then. */
  async #undo(spawn: Spawn, error: { code: string; message: string }): Promise<void> {
    await this.#deps.db.transact((tx) => {
      this.#deps.store.endSpawn(tx, spawn);
      this.#deps.store.appendSpawnFailed(tx, spawn, error);
    });
  }

  /** Returns the team and the requesting session. Throws if the member may not be spawned. */
  #check(
    rx: Reader,
    { id, team_id, source_session_id: sourceId, by_agent }: Spawn,
  ): {
    team: Team;
    source: Session;
  } {
    const team = this.#deps.store.openTeam(rx, team_id);
    const source = this.#deps.sessionStore.session(rx, sourceId);
    memberIn(this.#deps.store.members(rx, team_id), team, sourceId);
    assertOpen(source);
    if (by_agent) this.#assertRoomInFamily(rx, sourceId, id);
    return { team, source };
  }

  #assertRoomInFamily(rx: Reader, sourceId: string, spawnId: string): void {
    const max = this.#deps.maxSpawned();
    const root = this.#deps.store.rootOf(rx, sourceId);
    if (this.#deps.store.familySize(rx, root, spawnId) < max) return;
    throw new AppError(
      'too_many',
      `session ${root} has already spawned ${max} sessions that are still open, and teams.max_spawned_per_session allows no more: ask the operator to close some of them`,
    );
  }
}

interface Workplace {
  worktree: Worktree | null;
  created: boolean;
}

function withInitScript(request: SpawnRequest): SpawnRequest {
  const { worktree } = request;
  return worktree ? { ...request, worktree: { ...worktree, run_init_script: true } } : request;
}

function wantsWorktree({ worktree }: Pick<SpawnRequest, 'worktree'>): boolean {
  return worktree !== undefined && worktree !== null && worktree.mode !== 'none';
}

/** Throws `invalid` if a worktree is to be reused and the request does not name it. */
function assertNamed({ worktree }: SpawnRequest): void {
  if (worktree?.mode === 'reuse' && !worktree.name)
    throw invalidError(
      'body.worktree.name: mode "reuse" requires the name of the worktree to reuse',
    );
}

/** Returns the provider and agent of the member. The source session supplies omitted ones. */
function servedBy(
  { provider, agent }: SpawnRequest,
  source: Session,
  preset: ModelPreset | null,
): { provider: ProviderId; agent: string | null } {
  if (preset) return preset;
  const chosen = provider ?? (agent ? agentProvider : source.provider);
  return { provider: chosen, agent: agent ?? (chosen === source.provider ? source.agent : null) };
}

/** Returns the modes of a member that the operator spawns; `isSame`: with the agent of the source session. */
function requestedModes(
  { permission_mode, agent_mode }: SpawnRequest,
  preset: ModelPreset | null,
  source: Session,
  isSame: boolean,
): Modes {
  // A permission mode in the request sets aside the agent's own mode of the source session.
  const inherited = isSame && !permission_mode ? source.agent_mode : null;
  return {
    mode: permission_mode ?? source.permission_mode,
    agentMode: agent_mode ?? preset?.agent_mode ?? inherited,
  };
}
