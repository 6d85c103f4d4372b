import type { BodyOf } from '../api/endpoint.ts';
import type { ProviderId } from '../api/provider-kinds.ts';
import type { InputItem, Session } from '../api/sessions.ts';
import type { SpawnedMember, spawnMember, Team } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { NewSession, SessionService } from '../sessions/service.ts';
import type { Worktree } from '../api/worktrees.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Logger } from '../lib/log.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import { modeHandedOn } from '../sessions/permission-mode.ts';
import { assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { workingDirectory } from '../sessions/working-directory.ts';
import type { Database } from '../store/database.ts';
import type { Claims } from '../worktrees/claims.ts';
import type { WorktreeService } from '../worktrees/service.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { imagesAt, type MessageService, type Saying } from './messages.ts';
import type { Spawn, TeamStore } from './store.ts';
import { memberIn, newMember } from './team.ts';
import type { Reader, Writer } from '../store/transaction.ts';

type SpawnRequest = BodyOf<typeof spawnMember>;

/** The agent that asks for a member. */
export interface Spawner {
  /** The permission mode of its turn: the member gets no more. */
  mode: string | null;
  /** Whether the member counts for `teams.max_spawned_per_session`; what the operator spawns does not. */
  isLimited: boolean;
  /** Called once every other check has passed. Throws where the agent may not have the member. */
  admit: () => Promise<Admission>;
}

/** What was granted with the member. */
export interface Admission {
  /** The images of the first message. */
  images: InputItem[];
  /** Whether the init script of its worktree runs this time, even where nobody has consented to its content. */
  runsScript: boolean;
}

export interface ModelPreset {
  name: string;
  provider: ProviderId;
  model: string | null;
  thinking_effort: string | null;
}

interface SpawnServiceDependencies {
  db: Database;
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  messages: MessageService;
  worktrees: WorktreeService;
  worktreeStore: WorktreeStore;
  claims: Claims;
  clock: Clock;
  ids: Ids;
  failpoint: Failpoint;
  logger: Logger;
  presets: () => readonly ModelPreset[];
  /** How many sessions of one family, spawned by agents, may live. */
  maxSpawned: () => number;
}

/** Opens sessions as members of teams: session, worktree, member and first message all come to be, or none does. */
export class SpawnService {
  readonly #given: SpawnServiceDependencies;
  readonly #underWay = new OneAtATime();

  constructor(given: SpawnServiceDependencies) {
    this.#given = given;
  }

  /** Opens a session as a member of a team, and sends it its first message. */
  async spawn(
    teamId: string,
    request: SpawnRequest,
    keep: Keep = keepNothing,
  ): Promise<SpawnedMember> {
    return (await this.#begin(teamId, request, keep, null)).done;
  }

  /**
   * Begins to spawn a member for an agent; resolves once every check has passed. Throws `too_many` where its family
   * has as many members as it may have.
   */
  beginAsAgent(
    teamId: string,
    request: SpawnRequest,
    spawner: Spawner,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    return this.#begin(teamId, request, keepNothing, spawner);
  }

  async #begin(
    teamId: string,
    request: SpawnRequest,
    keep: Keep,
    spawner: Spawner | null,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    const spawn: Spawn = {
      id: this.#given.ids.next('op'),
      team_id: teamId,
      source_session_id: request.source_session_id,
      by_agent: spawner?.isLimited ?? false,
    };
    const { team, source } = await this.#given.db.read((rx) => this.#check(rx, spawn));
    const draft = () =>
      this.#given.sessions.draft(sessionFor(request, source, spawner, this.#given.presets()));
    const image_paths = request.image_paths ?? [];
    if (image_paths.length > 0) this.#given.messages.assertTakeImages([draft()]);
    else draft();
    assertNamed(request);
    const { images, runsScript } = spawner
      ? await spawner.admit()
      : { images: imagesAt(image_paths), runsScript: false };
    const placed = runsScript ? withScript(request) : request;
    // A person may have taken long to answer: provider and settings are checked again.
    const session = draft();
    const words = request.prompt ?? `You are now a member of team "${team.name}".`;
    const saying = await this.#given.messages.keepImages(
      source.id,
      { type: 'text', text: words },
      images,
    );
    // Without a worktree all is one transaction, which leaves nothing to be undone.
    if (wantsWorktree(request))
      await this.#given.db.transact((tx) => {
        this.#check(tx, spawn);
        this.#given.store.spawns.insert(tx, spawn);
      });
    this.#given.failpoint('spawn.begun');
    const done = this.#underWay.run(spawn.id, () =>
      this.#orUndo(spawn, () =>
        this.#atPlace(spawn, placed, (place) => {
          this.#given.failpoint('spawn.prepared');
          return this.#given.db.transact((tx) => {
            const spawned = this.#join(tx, spawn, request, { session, saying, ...place });
            keep(tx, spawned);
            return spawned;
          });
        }),
      ),
    );
    // A failure is reported to the caller that awaits `done`; without one it is no unhandled rejection.
    done.catch(() => undefined);
    return { operation_id: spawn.id, done };
  }

  /** Undoes what a dead server had begun. */
  async undoLeft(): Promise<void> {
    const error = { code: 'runtime_restarted', message: 'the server died while it was spawned' };
    for (const spawn of await this.#given.db.read((rx) => this.#given.store.unfinishedSpawns(rx)))
      await this.#underWay.run(spawn.id, () => this.#undo(spawn, error));
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Runs `join` with the place that the member is to work in. No session claims the worktree until then. */
  async #atPlace<T>(
    { id, team_id, source_session_id }: Spawn,
    { worktree: wish }: SpawnRequest,
    join: (place: Workplace) => Promise<T>,
  ): Promise<T> {
    if (!wish || !wantsWorktree({ worktree: wish }))
      return join({ worktree: null, created: false });
    const { mode, name, ...settings } = wish;
    const worktree_name = name ?? `agent-${id.slice(-8)}`;
    const worktreeRequest = {
      ...settings,
      worktree_name,
      source_session_id,
      team_id,
      operation_id: id,
    };
    return this.#given.worktrees.use(worktreeRequest, (worktree, created) => {
      if (mode === 'create' && !created)
        throw new AppError(
          'conflict',
          `worktree ${worktree_name} exists already: reuse it, or choose another name`,
        );
      return join({ worktree, created });
    });
  }

  /** The last step: stores session, member and first message. */
  #join(
    tx: Writer,
    spawn: Spawn,
    request: SpawnRequest,
    given: { session: Session; saying: Saying } & Workplace,
  ): SpawnedMember {
    const { saying, worktree, created } = given;
    const { team, source } = this.#check(tx, spawn);
    const { id } = given.session;
    const cwd = worktree ? workingDirectory(worktree.path) : given.session.cwd;
    this.#given.sessionStore.createSession(tx, { ...given.session, cwd });
    if (spawn.by_agent) this.#given.store.noteSpawned(tx, id, source.id);
    if (worktree) this.#given.claims.make(tx, worktree.id, id, created ? 'owner' : 'consumer');
    const member = newMember(
      team,
      {
        agent_id: id,
        title: request.title,
        added_by: source.id,
        worktree_id: worktree?.id,
      },
      this.#given.clock.now(),
    );
    this.#given.store.addMember(tx, member, spawn.id);
    const { message, deliveries } = this.#given.messages.store(tx, team, {
      sender_agent_id: source.id,
      recipient_agent_id: id,
      recipients: [id],
      image_paths: request.image_paths,
      saying,
      onboarding: true,
    });
    this.#given.store.endSpawn(tx, spawn);
    return {
      operation_id: spawn.id,
      team,
      session: this.#given.sessionStore.session(tx, id),
      member,
      worktree: worktree && this.#given.worktreeStore.worktree(tx, worktree.id),
      onboarding: { message_id: message.id, delivery_ids: deliveries.map((one) => one.id) },
    };
  }

  async #orUndo<T>(spawn: Spawn, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const said =
        error instanceof AppError
          ? { code: error.code, message: error.message }
          : { code: 'internal', message: 'the server log has the details' };
      await this.#undo(spawn, said).catch((failure: unknown) =>
        this.#given.logger.error(
          { err: failure, operation_id: spawn.id },
          'a spawn could not be undone',
        ),
      );
      throw error;
    }
  }

  /** Removes the worktree that was made for a spawn, and appends `team.spawn_failed`. */
  async #undo(spawn: Spawn, error: { code: string; message: string }): Promise<void> {
    const made = await this.#given.db.read((rx) =>
      this.#given.worktreeStore.madeBy(rx, spawn.team_id, spawn.id),
    );
    for (const { id } of made) await this.#given.worktrees.undo(id, `spawn ${spawn.id} failed`);
    await this.#given.db.transact((tx) => {
      this.#given.store.endSpawn(tx, spawn);
      this.#given.store.appendSpawnFailed(tx, spawn, error);
    });
  }

  /** The team and the session that asks. Throws where the member may not be spawned just now. */
  #check(
    rx: Reader,
    { id, team_id, source_session_id: sourceId, by_agent }: Spawn,
  ): {
    team: Team;
    source: Session;
  } {
    const team = this.#given.store.openTeam(rx, team_id);
    const source = this.#given.sessionStore.session(rx, sourceId);
    memberIn(this.#given.store.members(rx, team_id), team, sourceId);
    assertOpen(source);
    if (by_agent) this.#assertPlaceInFamily(rx, sourceId, id);
    return { team, source };
  }

  #assertPlaceInFamily(rx: Reader, sourceId: string, spawnId: string): void {
    const max = this.#given.maxSpawned();
    const root = this.#given.store.rootOf(rx, sourceId);
    if (this.#given.store.familySize(rx, root, spawnId) < max) return;
    throw new AppError(
      'too_many',
      `session ${root} and its members have spawned ${max} sessions that are open, which is the limit (teams.max_spawned_per_session): ask the operator to close some`,
    );
  }
}

/** Where a member is to work; without a worktree, in the directory of the session that asks for it. */
interface Workplace {
  worktree: Worktree | null;
  /** Whether it was made for the member. */
  created: boolean;
}

function withScript(request: SpawnRequest): SpawnRequest {
  const { worktree } = request;
  return worktree ? { ...request, worktree: { ...worktree, run_init_script: true } } : request;
}

function wantsWorktree({ worktree }: Pick<SpawnRequest, 'worktree'>): boolean {
  return worktree !== undefined && worktree !== null && worktree.mode !== 'none';
}

/** Throws `invalid` where a worktree is to be reused and has no name. */
function assertNamed({ worktree }: SpawnRequest): void {
  if (worktree?.mode === 'reuse' && !worktree.name)
    throw new AppError('invalid', 'body.worktree.name: is needed, to say which worktree to reuse');
}

/** The session to open. Settings that the request leaves out are those of the source session, or of its turn. */
function sessionFor(
  request: SpawnRequest,
  source: Session,
  spawner: Spawner | null,
  presets: readonly ModelPreset[],
): NewSession {
  const preset = presetOf(request, presets);
  const provider = preset?.provider ?? request.provider ?? source.provider;
  // One provider's model names mean nothing to another.
  const like = provider === source.provider ? source : { model: null, thinking_effort: null };
  return {
    provider,
    model: preset ? preset.model : (request.model ?? like.model),
    thinking_effort: preset ? preset.thinking_effort : like.thinking_effort,
    cwd: source.cwd,
    permission_mode: spawner
      ? modeHandedOn(spawner.mode, provider === source.provider)
      : (request.permission_mode ?? source.permission_mode),
    metadata: preset ? withPreset(request.metadata, preset) : request.metadata,
    title: request.title ?? null,
  };
}

/** Throws `unknown_model_preset`, and `invalid` where the request also names what the preset sets. */
function presetOf(
  { model_preset: name, provider, model }: SpawnRequest,
  presets: readonly ModelPreset[],
): ModelPreset | null {
  if (name === undefined || name === null) return null;
  if (provider || model)
    throw new AppError(
      'invalid',
      'body.model_preset: sets provider and model: leave out either those or the preset',
    );
  const found = presets.find((preset) => preset.name === name);
  if (found) return found;
  const known = presets.map((preset) => preset.name).join(', ') || 'none';
  throw new AppError('unknown_model_preset', `no model preset "${name}"; there are: ${known}`);
}

function withPreset(metadata: unknown, { name, thinking_effort }: ModelPreset): unknown {
  const about = { model_preset: name, thinking_effort };
  if (metadata === undefined || metadata === null) return about;
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw new AppError('invalid', 'body.metadata: has to be an object if body.model_preset is set');
  return { ...metadata, ...about };
}
