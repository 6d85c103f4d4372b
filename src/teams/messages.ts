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
import type { Reader, Writer } from '../store/transaction.ts';

type Sent = ResponseOf<typeof sendMessage>;

/** A message to be sent: to one member or, with the recipient null, to all, with `include_sender` to the sender too. */
type Draft = Omit<BodyOf<typeof sendMessage>, 'recipient_agent_id'> & {
  recipient_agent_id: string | null;
  include_sender?: boolean;
  /** An agent sends it by itself: it counts for `teams.max_hops`. */
  isHop?: boolean;
};

/** A message that has passed all checks, with its recipients. */
type Stored = Omit<Draft, 'input'> & {
  recipients: string[];
  saying: Saying;
  onboarding?: boolean;
};

/** The content of a message, once its images are kept. */
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
  /** How many messages agents may send in a row; 0: no limit. */
  maxHops: () => number;
  /** Whether messages to sessions of a provider may have images. */
  takesImages: (provider: Session['provider']) => boolean;
  /** Throws `storage_full` where there is no room for new work. */
  assertRoom: () => void;
}

/** The messages between members. Every answer is on disk; nothing waits for a provider. */
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
   * Sends a message that an agent sends by its tool; it counts for `teams.max_hops`. `admit` is called once every other
   * check has passed: it throws where the agent may not send the message, and answers the images of the message.
   */
  sayAsAgent(teamId: string, draft: Draft, admit: () => Promise<InputItem[]>): Promise<Sent> {
    return this.#say(teamId, { ...draft, isHop: true }, keepNothing, admit);
  }

  list(
    teamId: string,
    { limit, cursor }: QueryOf<typeof listMessages>,
  ): Promise<RecordPage<Message>> {
    return this.#given.db.read((rx) => {
      this.#given.store.team(rx, teamId);
      return this.#given.store.messages.page(rx, { team_id: teamId }, limit, cursor);
    });
  }

  deliveries(
    teamId: string,
    { limit, cursor, ...filters }: QueryOf<typeof listDeliveries>,
  ): Promise<RecordPage<Delivery>> {
    return this.#given.db.read((rx) => {
      this.#given.store.team(rx, teamId);
      return this.#given.store.deliveries.page(rx, { team_id: teamId, ...filters }, limit, cursor);
    });
  }

  /** Cancels the deliveries of a message that still wait. */
  cancel(teamId: string, messageId: string, keep: Keep = keepNothing): Promise<Message> {
    return this.#given.db.transact((tx) => {
      this.#given.store.openTeam(tx, teamId);
      const message = this.#given.store.message(tx, teamId, messageId);
      const deliveries = this.#given.store.deliveriesOf(tx, messageId);
      const waiting = deliveries.filter(waits);
      if (deliveries.length > 0 && waiting.length === 0)
        throw new AppError(
          'delivery_state',
          `message ${messageId} has no delivery that still waits`,
        );
      const now: Message = {
        ...message,
        cancelled_at: message.cancelled_at ?? this.#given.clock.now(),
      };
      if (message.cancelled_at === null) this.#given.store.cancelMessage(tx, now);
      for (const delivery of waiting) this.#given.dispatcher.cancel(tx, delivery);
      keep(tx, now);
      return now;
    });
  }

  /** Tries a delivery again. */
  retry(teamId: string, deliveryId: string, keep: Keep = keepNothing): Promise<Delivery> {
    return this.#given.db.transact((tx) => {
      this.#given.store.openTeam(tx, teamId);
      const delivery = this.#given.store.delivery(tx, teamId, deliveryId);
      this.#given.dispatcher.retry(tx, delivery);
      const now = this.#given.store.delivery(tx, teamId, deliveryId);
      keep(tx, now);
      return now;
    });
  }

  /** A person has sent the session a turn: resets the hops of its teams, and releases messages that exceeded them. */
  spokenTo(tx: Writer, session: Session): void {
    for (const { id } of this.#given.store.teamsOf(tx, session.id)) {
      if (this.#given.store.hops(tx, id) === 0) continue;
      this.#given.store.setHops(tx, id, 0);
      for (const delivery of this.#given.store.waitingIn(tx, id))
        if (delivery.error?.code === HOP_LIMIT) this.#given.dispatcher.release(tx, delivery);
    }
  }

  /** Throws `unsupported_provider_images` where the provider of one of the sessions takes no images. */
  assertTakeImages(sessions: readonly Pick<Session, 'id' | 'provider'>[]): void {
    const blind = sessions.find(({ provider }) => !this.#given.takesImages(provider));
    if (!blind) return;
    throw new AppError(
      'unsupported_provider_images',
      `session ${blind.id} has the provider ${blind.provider}, which accepts no images: leave them out`,
    );
  }

  /** Copies each image of a message before a row names it. Relative paths are resolved in the sender's directory. */
  async keepImages(
    sender: string,
    given: InputItem | InputItem[],
    shown: readonly InputItem[] = [],
  ): Promise<Saying> {
    const said = Array.isArray(given) ? given : [given];
    const kept = await this.#given.blobs.keep([...said, ...shown], () =>
      this.#given.db.read((rx) => this.#given.sessionStore.session(rx, sender).cwd),
    );
    const input = kept.slice(0, said.length);
    const images = kept.slice(said.length) as StoredImage[];
    return { input: Array.isArray(given) ? input : (input[0] as StoredInputItem), images };
  }

  /** Stores a message to a few recipients and dispatches it. */
  store(tx: Writer, team: Team, said: Stored): Sent {
    const message = this.#message(team, said);
    this.#given.store.createMessage(tx, message);
    const deliveries = said.recipients.map((recipient) =>
      newDelivery(this.#given.ids.next('dlv'), message, recipient, message.created_at),
    );
    for (const delivery of deliveries) this.#given.store.createDelivery(tx, delivery);
    const limit = said.isHop ? this.#countHop(tx, team) : null;
    for (const delivery of deliveries) {
      if (limit) this.#given.dispatcher.hold(tx, delivery, message, limit);
      else this.#given.dispatcher.dispatch(tx, delivery, message);
    }
    return { message, deliveries: this.#given.store.deliveriesOf(tx, message.id) };
  }

  /** Stores a message to many recipients; its deliveries are still to be stored. */
  #begin(tx: Writer, team: Team, said: Stored): { message: Message; limit: Failure | null } {
    const message = this.#message(team, said);
    this.#given.store.createMessage(tx, message);
    return { message, limit: said.isHop ? this.#countHop(tx, team) : null };
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
    await this.#given.db.read((rx) => this.#check(rx, teamId, draft));
    const saying = await this.keepImages(draft.sender_agent_id, draft.input, await admit());
    const stored = await this.#given.db.transact((tx) => {
      const { team, recipients } = this.#check(tx, teamId, draft);
      const said = { ...draft, recipients, saying };
      if (recipients.length > AT_ONCE) return this.#begin(tx, team, said);
      const sent = this.store(tx, team, said);
      keep(tx, sent);
      return sent;
    });
    if ('deliveries' in stored) return stored;
    return this.#given.broadcasts.send(stored.message, stored.limit, keep);
  }

  /** Throws where the message may not be sent just now; answers its recipients. */
  #check(rx: Reader, teamId: string, draft: Draft): { team: Team; recipients: string[] } {
    const team = this.#given.store.openTeam(rx, teamId);
    const recipients = recipientsOf(draft, team, this.#given.store.agents(rx, teamId));
    const { reply_to_message_id: reply } = draft;
    if (reply !== undefined && reply !== null) this.#given.store.message(rx, teamId, reply);
    if (hasImages(draft))
      this.assertTakeImages(recipients.map((id) => this.#given.sessionStore.session(rx, id)));
    return { team, recipients };
  }

  /** Counts a message that an agent sends by itself; answers why it is deferred where it exceeds the limit. */
  #countHop(tx: Writer, { id }: Team): Failure | null {
    const max = this.#given.maxHops();
    const hops = this.#given.store.hops(tx, id) + 1;
    this.#given.store.setHops(tx, id, hops);
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
