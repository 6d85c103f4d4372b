import type { BodyOf, QueryOf, ResponseOf } from '../api/endpoint.ts';
import type { InputItem, StoredImage, StoredInputItem } from '../api/sessions.ts';
import type {
  broadcast,
  Delivery,
  Message,
  sendMessage,
  listDeliveries,
  listMessages,
} from '../api/team-messages.ts';
import type { Team } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Blobs } from '../sessions/blobs.ts';
import type { Session } from '../api/sessions.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { RecordPage } from '../store/records.ts';
import { AT_ONCE, type Broadcasts } from './broadcasts.ts';
import { type Failure, newDelivery, waits } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import { assertIn } from './team.ts';

type Sent = ResponseOf<typeof sendMessage>;

/** What is to be said, and to whom: a member, or (null) all, the sender too where that is wanted. */
type Draft = Omit<BodyOf<typeof sendMessage>, 'recipient_agent_id'> & {
  recipient_agent_id: string | null;
  include_sender?: boolean;
  /** An agent says it of its own accord. */
  isHop?: boolean;
};

/** What is to be stored of it. */
type Stored = Omit<Draft, 'input'> & {
  recipients: string[];
  saying: Saying;
  onboarding?: boolean;
};

/** What is said, once its images are kept. */
export interface Saying {
  input: Message['input'];
  images: StoredImage[];
}

interface MessageServiceDependencies {
  db: Database;
  store: TeamStore;
  sessionStore: SessionStore;
  dispatcher: Dispatcher;
  broadcasts: Broadcasts;
  blobs: Blobs;
  clock: Clock;
  ids: Ids;
  /** So many messages of agents in a row; 0: no limit. */
  maxHops: () => number;
  /** Whether messages to sessions of a provider may have images. */
  takesImages: (provider: Session['provider']) => boolean;
  /** Throws `storage_full` where there is no room for new work. */
  assertRoom: () => void;
}

/** What members say to each other. Every answer is on disk; nothing waits for a provider. */
export class MessageService {
  readonly #given: MessageServiceDependencies;

  constructor(given: MessageServiceDependencies) {
    this.#given = given;
  }

  send(teamId: string, body: BodyOf<typeof sendMessage>, keep: Keep = keepNothing): Promise<Sent> {
    return this.#say(teamId, body, keep, () => imagesAt(body.image_paths));
  }

  broadcast(
    teamId: string,
    { include_sender, ...body }: BodyOf<typeof broadcast>,
    keep: Keep = keepNothing,
  ): Promise<Sent> {
    const all = { recipient_agent_id: null, include_sender: include_sender ?? false };
    return this.#say(teamId, { ...body, ...all }, keep, () => imagesAt(body.image_paths));
  }

  /**
   * What an agent says by its tool: it may be a message too many. `admit` is called once nothing else speaks against
   * it: it throws where it may not be said, and answers its images.
   */
  sayAsAgent(teamId: string, draft: Draft, admit: () => Promise<InputItem[]>): Promise<Sent> {
    return this.#say(teamId, { ...draft, isHop: true }, keepNothing, admit);
  }

  list(
    teamId: string,
    { limit, cursor }: QueryOf<typeof listMessages>,
  ): Promise<RecordPage<Message>> {
    return this.#given.db.read(() => {
      this.#given.store.team(teamId);
      return this.#given.store.messages.page({ team_id: teamId }, limit, cursor);
    });
  }

  deliveries(
    teamId: string,
    { limit, cursor, ...filters }: QueryOf<typeof listDeliveries>,
  ): Promise<RecordPage<Delivery>> {
    return this.#given.db.read(() => {
      this.#given.store.team(teamId);
      return this.#given.store.deliveries.page({ team_id: teamId, ...filters }, limit, cursor);
    });
  }

  /** Takes a message back from those who have not got it. */
  cancel(teamId: string, messageId: string, keep: Keep = keepNothing): Promise<Message> {
    return this.#given.db.transact(() => {
      this.#given.store.openTeam(teamId);
      const message = this.#given.store.message(teamId, messageId);
      const deliveries = this.#given.store.deliveriesOf(messageId);
      const waiting = deliveries.filter(waits);
      if (deliveries.length > 0 && waiting.length === 0)
        throw new AppError('delivery_state', `nothing of message ${messageId} waits any more`);
      const now: Message = {
        ...message,
        cancelled_at: message.cancelled_at ?? this.#given.clock.now(),
      };
      if (message.cancelled_at === null) this.#given.store.cancelMessage(now);
      for (const delivery of waiting) this.#given.dispatcher.cancel(delivery);
      keep(now);
      return now;
    });
  }

  /** Tries a delivery again. */
  retry(teamId: string, deliveryId: string, keep: Keep = keepNothing): Promise<Delivery> {
    return this.#given.db.transact(() => {
      this.#given.store.openTeam(teamId);
      const delivery = this.#given.store.delivery(teamId, deliveryId);
      this.#given.dispatcher.retry(delivery);
      const now = this.#given.store.delivery(teamId, deliveryId);
      keep(now);
      return now;
    });
  }

  /** A session was spoken to by a person: the agents of its teams may talk on. Inside that transaction. */
  spokenTo(session: Session): void {
    for (const { id } of this.#given.store.teamsOf(session.id)) {
      if (this.#given.store.hops(id) === 0) continue;
      this.#given.store.setHops(id, 0);
      for (const delivery of this.#given.store.waitingIn(id))
        if (delivery.error?.code === HOP_LIMIT) this.#given.dispatcher.release(delivery);
    }
  }

  /** Throws `unsupported_provider_images` where one of the sessions would be shown images that it cannot be shown. */
  assertTakeImages(sessions: readonly Pick<Session, 'id' | 'provider'>[]): void {
    const blind = sessions.find(({ provider }) => !this.#given.takesImages(provider));
    if (!blind) return;
    throw new AppError(
      'unsupported_provider_images',
      `session ${blind.id} is of ${blind.provider}, to whose sessions no images are sent: leave them out`,
    );
  }

  /** Keeps what is said: each image is copied before anything names it. Relative paths are of the sender's directory. */
  async keepImages(
    sender: string,
    given: InputItem | InputItem[],
    shown: readonly InputItem[] = [],
  ): Promise<Saying> {
    const said = Array.isArray(given) ? given : [given];
    const kept = await this.#given.blobs.keep([...said, ...shown], () =>
      this.#given.db.read(() => this.#given.sessionStore.session(sender).cwd),
    );
    const input = kept.slice(0, said.length);
    const images = kept.slice(said.length) as StoredImage[];
    return { input: Array.isArray(given) ? input : (input[0] as StoredInputItem), images };
  }

  /** Stores a message to a few and sends it on its way, inside a transaction. */
  store(team: Team, said: Stored): Sent {
    const message = this.#message(team, said);
    this.#given.store.createMessage(message);
    const deliveries = said.recipients.map((recipient) =>
      newDelivery(this.#given.ids.next('dlv'), message, recipient, message.created_at),
    );
    for (const delivery of deliveries) this.#given.store.createDelivery(delivery);
    const limit = said.isHop ? this.#countHop(team) : null;
    for (const delivery of deliveries) {
      if (limit) this.#given.dispatcher.hold(delivery, message, limit);
      else this.#given.dispatcher.dispatch(delivery, message);
    }
    return { message, deliveries: this.#given.store.deliveriesOf(message.id) };
  }

  /** Stores a message to many, inside a transaction: its deliveries are still to be stored. */
  #begin(team: Team, said: Stored): { message: Message; limit: Failure | null } {
    const message = this.#message(team, said);
    this.#given.store.createMessage(message);
    return { message, limit: said.isHop ? this.#countHop(team) : null };
  }

  #message(team: Team, { recipients, saying, ...said }: Stored): Message {
    return {
      id: this.#given.ids.next('msg'),
      team_id: team.id,
      scope: said.recipient_agent_id === null ? 'broadcast' : 'direct',
      sender_agent_id: said.sender_agent_id,
      recipient_agent_id: said.recipient_agent_id,
      recipient_agent_ids: recipients,
      ...saying,
      image_paths: said.image_paths ?? [],
      priority: said.priority ?? 'normal',
      policy: said.policy ?? 'non_interrupting',
      correlation_id: said.correlation_id ?? null,
      reply_to_message_id: said.reply_to_message_id ?? null,
      onboarding: said.onboarding ?? false,
      created_at: this.#given.clock.now(),
      cancelled_at: null,
    };
  }

  async #say(
    teamId: string,
    draft: Draft,
    keep: Keep,
    admit: () => InputItem[] | Promise<InputItem[]>,
  ): Promise<Sent> {
    this.#given.assertRoom();
    await this.#given.db.read(() => this.#check(teamId, draft));
    const saying = await this.keepImages(draft.sender_agent_id, draft.input, await admit());
    const stored = await this.#given.db.transact(() => {
      const { team, recipients } = this.#check(teamId, draft);
      const said = { ...draft, recipients, saying };
      if (recipients.length > AT_ONCE) return this.#begin(team, said);
      const sent = this.store(team, said);
      keep(sent);
      return sent;
    });
    if ('deliveries' in stored) return stored;
    return this.#given.broadcasts.send(stored.message, stored.limit, keep);
  }

  /** Throws where it may not be said just now; answers to whom it goes. */
  #check(teamId: string, draft: Draft): { team: Team; recipients: string[] } {
    const team = this.#given.store.openTeam(teamId);
    const recipients = recipientsOf(draft, team, this.#given.store.agents(teamId));
    const { reply_to_message_id: reply } = draft;
    if (reply !== undefined && reply !== null) this.#given.store.message(teamId, reply);
    if (hasImages(draft))
      this.assertTakeImages(recipients.map((id) => this.#given.sessionStore.session(id)));
    return { team, recipients };
  }

  /** Counts a message that an agent sends by itself; why it is put off where it is one too many. */
  #countHop({ id }: Team): Failure | null {
    const max = this.#given.maxHops();
    const hops = this.#given.store.hops(id) + 1;
    this.#given.store.setHops(id, hops);
    if (max === 0 || hops <= max) return null;
    const message = `agents have sent ${max} messages in a row: it waits until somebody sends a turn to a member`;
    return { code: HOP_LIMIT, message };
  }
}

const HOP_LIMIT = 'hop_limit';

/** Image files as parts of an input. */
export function imagesAt(paths: readonly string[] | null | undefined): InputItem[] {
  return (paths ?? []).map((path) => ({ type: 'image', path }));
}

function recipientsOf(draft: Draft, team: Team, agents: readonly string[]): string[] {
  const { recipient_agent_id: one, sender_agent_id: sender } = draft;
  assertIn(agents, team, sender);
  if (one === null) return agents.filter((id) => draft.include_sender === true || id !== sender);
  assertIn(agents, team, one);
  return [one];
}

function hasImages({ input, image_paths }: Draft): boolean {
  const items = Array.isArray(input) ? input : [input];
  return (image_paths?.length ?? 0) > 0 || items.some(({ type }) => type === 'image');
}
