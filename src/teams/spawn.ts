import type { BodyOf } from '../api/endpoint.ts';
import type { ProviderId, Session } from '../api/sessions.ts';
import type { Member, SpawnedMember, spawnMember, Team } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../idempotency/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { NewSession, SessionService } from '../sessions/service.ts';
import { assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { MessageService, Saying } from './messages.ts';
import type { Spawn, TeamStore } from './store.ts';
import { memberIn } from './team.ts';

type Wanted = BodyOf<typeof spawnMember>;

export interface ModelPreset {
  name: string;
  provider: ProviderId;
  model: string | null;
  thinking_effort: string | null;
}

/** Opens sessions for teams: all of it, or nothing, also over a restart. */
export class SpawnService {
  readonly #db: Database;
  readonly #store: TeamStore;
  readonly #sessions: SessionStore;
  readonly #sessionService: SessionService;
  readonly #messages: MessageService;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #presets: () => readonly ModelPreset[];

  constructor(given: {
    db: Database;
    store: TeamStore;
    sessions: SessionStore;
    sessionService: SessionService;
    messages: MessageService;
    clock: Clock;
    ids: Ids;
    presets: () => readonly ModelPreset[];
  }) {
    this.#db = given.db;
    this.#store = given.store;
    this.#sessions = given.sessions;
    this.#sessionService = given.sessionService;
    this.#messages = given.messages;
    this.#clock = given.clock;
    this.#ids = given.ids;
    this.#presets = given.presets;
  }

  /** Opens a session as a member of a team, and tells it what it is there for. */
  async spawn(teamId: string, wanted: Wanted, keep: Keep = keepNothing): Promise<SpawnedMember> {
    return (await this.begin(teamId, wanted, keep)).done;
  }

  /** Like that; resolves once it is known that it may be done. */
  async begin(
    teamId: string,
    wanted: Wanted,
    keep: Keep = keepNothing,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    const { team, source } = await this.#db.read(() => this.#check(teamId, wanted));
    const session = this.#sessionService.draft(sessionFor(wanted, source, this.#presets()));
    const image_paths = wanted.image_paths ?? [];
    if (image_paths.length > 0) this.#messages.assertTakeImages([session]);
    const words = wanted.prompt ?? `You are now a member of team "${team.name}".`;
    const saying = await this.#messages.keepImages({ type: 'text', text: words }, image_paths);
    const spawn: Spawn = {
      id: this.#ids.next('op'),
      team_id: teamId,
      source_session_id: source.id,
    };
    const done = this.#db.transact(() => {
      const spawned = this.#join(spawn, wanted, { session, saying });
      keep(spawned);
      return spawned;
    });
    return { operation_id: spawn.id, done };
  }

  /** The last step: session, member and first message, inside a transaction. */
  #join(
    spawn: Spawn,
    wanted: Wanted,
    { session, saying }: { session: Session; saying: Saying },
  ): SpawnedMember {
    const { team, source } = this.#check(spawn.team_id, wanted);
    this.#sessions.createSession(session);
    const member: Member = {
      team_id: team.id,
      agent_id: session.id,
      title: wanted.title ?? null,
      joined_at: this.#clock.now(),
      added_by: source.id,
      worktree_id: null,
    };
    this.#store.addMember(member);
    const { message, deliveries } = this.#messages.store(team, {
      sender_agent_id: source.id,
      recipient_agent_id: session.id,
      recipients: [session.id],
      image_paths: wanted.image_paths,
      saying,
      onboarding: true,
    });
    return {
      operation_id: spawn.id,
      team,
      session: this.#sessions.session(session.id),
      member,
      onboarding: { message_id: message.id, delivery_ids: deliveries.map(({ id }) => id) },
    };
  }

  #check(teamId: string, { source_session_id: sourceId }: Wanted): { team: Team; source: Session } {
    const team = this.#store.openTeam(teamId);
    const source = this.#sessions.session(sourceId);
    memberIn(this.#store.members(teamId), team, sourceId);
    assertOpen(source);
    return { team, source };
  }
}

/** The session that is wanted; what is not said is as in the session that wants it. */
function sessionFor(wanted: Wanted, source: Session, presets: readonly ModelPreset[]): NewSession {
  const preset = presetOf(wanted, presets);
  const provider = preset?.provider ?? wanted.provider ?? source.provider;
  // What one provider calls its models, another does not know.
  const like = provider === source.provider ? source : { model: null, thinking_effort: null };
  return {
    provider,
    model: preset ? preset.model : (wanted.model ?? like.model),
    thinking_effort: preset ? preset.thinking_effort : like.thinking_effort,
    cwd: source.cwd,
    permission_mode: wanted.permission_mode ?? source.permission_mode,
    metadata: preset ? withPreset(wanted.metadata, preset) : wanted.metadata,
    title: wanted.title ?? null,
  };
}

/** Throws `unknown_model_preset`, and `invalid` where it is said twice what a preset says. */
function presetOf(
  { model_preset: name, provider, model }: Wanted,
  presets: readonly ModelPreset[],
): ModelPreset | null {
  if (name === undefined || name === null) return null;
  if (provider || model)
    throw new AppError(
      'invalid',
      'body.model_preset: says provider and model: leave those out, or the preset',
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
    throw new AppError('invalid', 'body.metadata: has to be an object beside a model_preset');
  return { ...metadata, ...about };
}
