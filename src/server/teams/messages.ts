import type { BodyOf, QueryOf, ResponseOf } from '../../api/endpoint.ts';
import type {
  broadcast,
  Delivery,
  Message,
  sendMessage,
  listDeliveries,
  listMessages,
} from '../../api/team-messages.ts';
import type { Team } from '../../api/teams.ts';
import { AppError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { Blobs } from '../conversations/sessions/blobs.ts';
import type { Session } from '../../api/sessions.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import type { RecordPage } from '../../core/store/records.ts';
import { type Broadcasts, ONE_TRANSACTION_RECIPIENTS } from './broadcasts.ts';
import { type Failure, newDelivery, waits } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import { assertMember } from './team.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';
import type { InputItem, StoredImage, StoredInputItem } from '../../api/input.ts';

type Sent = ResponseOf<typeof sendMessage>;

/** A message to one member or, if the recipient is null, to all; with `include_sender`, to the sender too. */
type Draft = Omit<BodyOf<typeof sendMessage>, 'recipient_agent_id'> & {
  recipient_agent_id: string | null;
  include_sender?: boolean;
  /** Whether an agent sends it on its own initiative, so that it counts towards `teams.max_hops`. */
  isHop?: boolean;
};

/** A draft that has passed all checks, with its recipients and the copies of its images. */
type CheckedDraft = Omit<Draft, 'input'> & {
  recipients: string[];
  content: MessageContent;
  onboarding?: boolean;
};

/** The content of a message, whose images have been copied. */
export interface MessageContent {
  input: Message['input'];
  images: StoredImage[];
}

interface MessageServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids'> {
  store: TeamStore;
  sessionStore: SessionStore;
  dispatcher: Dispatcher;
  broadcasts: Broadcasts;
  blobs: Blobs;
  /** The maximum number of messages that agents may send in a row; 0: no limit. */
  maxHops: () => number;
  acceptsImages: (provider: Session['provider']) => boolean;
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
}

/** The state of a delivery in SQL. It is `consumed` if the delivery is injected and its turn has completed. */
const CONSUMED = "iif(json_extract(record, '$.consumed_at') IS NULL, status, 'consumed')";

/** The messages between members. Each method resolves once its result is on disk, and waits for no provider. */
export class MessageService {
  readonly #deps: MessageServiceDeps;

  constructor(deps: MessageServiceDeps) {
    this.#deps = deps;
  }

  send(
    teamId: string,
    body: BodyOf<typeof sendMessage>,
    saveResponse?: SaveResponse,
  ): Promise<Sent> {
    return this.#send(teamId, body, () => imagesAt(body.image_paths), saveResponse);
  }

  broadcast(
    teamId: string,
    { include_sender, ...body }: BodyOf<typeof broadcast>,
    saveResponse?: SaveResponse,
  ): Promise<Sent> {
    const all = { recipient_agent_id: null, include_sender: include_sender ?? false };
    return this.#send(teamId, { ...body, ...all }, () => imagesAt(body.image_paths), saveResponse);
  }

  /** Sends a message for an agent, counted towards `teams.max_hops`. `admit` runs last: it throws, or returns the images. */
  sendAsAgent(teamId: string, draft: Draft, admit: () => Promise<InputItem[]>): Promise<Sent> {
    return this.#send(teamId, { ...draft, isHop: true }, admit);
  }

  list(
    teamId: string,
    { limit, cursor }: QueryOf<typeof listMessages>,
  ): Promise<RecordPage<Message>> {
    return this.#deps.db.read((rx) => {
      this.#deps.store.team(rx, teamId);
      return this.#deps.store.messages.page(rx, { team_id: teamId }, limit, cursor);
    });
  }

  deliveries(
    teamId: string,
    { limit, cursor, status, ...filters }: QueryOf<typeof listDeliveries>,
  ): Promise<RecordPage<Delivery>> {
    return this.#deps.db.read((rx) => {
      this.#deps.store.team(rx, teamId);
      const wanted = { team_id: teamId, [status === 'consumed' ? CONSUMED : 'status']: status };
      return this.#deps.store.deliveries.page(rx, { ...wanted, ...filters }, limit, cursor);
    });
  }

  cancel(teamId: string, messageId: string, saveResponse?: SaveResponse): Promise<Message> {
    return this.#deps.db.transact((tx) => {
      this.#deps.store.openTeam(tx, teamId);
      const message = this.#deps.store.message(tx, teamId, messageId);
      const deliveries = this.#deps.store.deliveriesOf(tx, messageId);
      const waiting = deliveries.filter(waits);
      if (deliveries.length > 0 && waiting.length === 0)
        throw new AppError('delivery_state', `message ${messageId} has no pending delivery`);
      const now: Message = {
        ...message,
        cancelled_at: message.cancelled_at ?? this.#deps.clock.now(),
      };
      if (message.cancelled_at === null) this.#deps.store.cancelMessage(tx, now);
      for (const delivery of waiting) this.#deps.dispatcher.cancel(tx, delivery);
      return now;
    }, saveResponse);
  }

  retry(teamId: string, deliveryId: string, saveResponse?: SaveResponse): Promise<Delivery> {
    return this.#deps.db.transact((tx) => {
      this.#deps.store.openTeam(tx, teamId);
      const delivery = this.#deps.store.delivery(tx, teamId, deliveryId);
      this.#deps.dispatcher.retry(tx, delivery);
      return this.#deps.store.delivery(tx, teamId, deliveryId);
    }, saveResponse);
  }

  /** Resets the hops of a session's teams, and releases the deliveries that had exceeded the limit. */
  resetHops(tx: Writer, session: Session): void {
    for (const { id } of this.#deps.store.teamsOf(tx, session.id)) {
      if (this.#deps.store.hops(tx, id) === 0) continue;
      this.#deps.store.setHops(tx, id, 0);
      for (const delivery of this.#deps.store.waitingIn(tx, id))
        if (delivery.error?.code === HOP_LIMIT) this.#deps.dispatcher.release(tx, delivery);
    }
  }

  /** Throws `unsupported_provider_images` if a provider accepts no images. `recipient`: the session that it serves. */
  assertAcceptImages(provider: Session['provider'], recipient?: string): void {
    if (this.#deps.acceptsImages(provider)) return;
    const who =
      recipient === undefined
        ? `provider ${provider} does not`
        : `session ${recipient} uses provider ${provider}, which does not`;
    throw new AppError(
      'unsupported_provider_images',
      `${who} support images: leave the images out`,
    );
  }

  /** Copies the images of a message, as {@link Blobs.copyImages}. Relative paths start from the sender's directory. */
  async copyImages(
    sender: string,
    input: InputItem | InputItem[],
    attached: readonly InputItem[] = [],
  ): Promise<MessageContent> {
    const items = Array.isArray(input) ? input : [input];
    const stored = await this.#deps.blobs.copyImages([...items, ...attached], () =>
      this.#deps.db.read((rx) => this.#deps.sessionStore.session(rx, sender).cwd),
    );
    const storedInput = stored.slice(0, items.length);
    const images = stored.slice(items.length) as StoredImage[];
    return {
      input: Array.isArray(input) ? storedInput : (storedInput[0] as StoredInputItem),
      images,
    };
  }

  /** Stores a message to at most `ONE_TRANSACTION_RECIPIENTS` recipients, and dispatches it. */
  store(tx: Writer, team: Team, draft: CheckedDraft): Sent {
    const message = this.#message(team, draft);
    this.#deps.store.createMessage(tx, message);
    const deliveries = draft.recipients.map((recipient) =>
      newDelivery(this.#deps.ids.next('dlv'), message, recipient, message.created_at),
    );
    for (const delivery of deliveries) this.#deps.store.createDelivery(tx, delivery);
    const limit = draft.isHop ? this.#countHop(tx, team) : null;
    for (const delivery of deliveries) {
      if (limit) this.#deps.dispatcher.hold(tx, delivery, message, limit);
      else this.#deps.dispatcher.dispatch(tx, delivery, message);
    }
    return { message, deliveries: this.#deps.store.deliveriesOf(tx, message.id) };
  }

  #begin(tx: Writer, team: Team, draft: CheckedDraft): { message: Message; limit: Failure | null } {
    const message = this.#message(team, draft);
    this.#deps.store.createMessage(tx, message);
    return { message, limit: draft.isHop ? this.#countHop(tx, team) : null };
  }

  #message(team: Team, { recipients, content, ...draft }: CheckedDraft): Message {
    return {
      id: this.#deps.ids.next('msg'),
      team_id: team.id,
      scope: draft.recipient_agent_id === null ? 'broadcast' : 'direct',
      sender_agent_id: draft.sender_agent_id,
      recipient_agent_id: draft.recipient_agent_id,
      recipient_agent_ids: recipients,
      ...content,
      image_paths: draft.image_paths ?? [],
      priority: draft.priority ?? 'normal',
      policy: draft.policy ?? 'non_interrupting',
      correlation_id: draft.correlation_id ?? null,
      reply_to_message_id: draft.reply_to_message_id ?? null,
      onboarding: draft.onboarding ?? false,
      created_at: this.#deps.clock.now(),
      cancelled_at: null,
    };
  }

  async #send(
    teamId: string,
    draft: Draft,
    admit: () => InputItem[] | Promise<InputItem[]>,
    saveResponse?: SaveResponse,
  ): Promise<Sent> {
    this.#deps.assertRoom();
    await this.#deps.db.read((rx) => this.#check(rx, teamId, draft));
    const content = await this.copyImages(draft.sender_agent_id, draft.input, await admit());
    const stored = await this.#deps.db.transact((tx) => {
      const { team, recipients } = this.#check(tx, teamId, draft);
      const checked = { ...draft, recipients, content };
      if (recipients.length > ONE_TRANSACTION_RECIPIENTS) return this.#begin(tx, team, checked);
      const sent = this.store(tx, team, checked);
      saveResponse?.(tx, sent);
      return sent;
    });
    if ('deliveries' in stored) return stored;
    return this.#deps.broadcasts.send(stored.message, stored.limit, saveResponse);
  }

  /** Returns the team and the recipients of a message. Throws if the message may not be sent. */
  #check(rx: Reader, teamId: string, draft: Draft): { team: Team; recipients: string[] } {
    const team = this.#deps.store.openTeam(rx, teamId);
    const recipients = recipientsOf(draft, team, this.#deps.store.agents(rx, teamId));
    const { reply_to_message_id: reply } = draft;
    if (reply !== undefined && reply !== null) this.#deps.store.message(rx, teamId, reply);
    if (hasImages(draft))
      for (const id of recipients)
        this.assertAcceptImages(this.#deps.sessionStore.session(rx, id).provider, id);
    return { team, recipients };
  }

  /** Counts a message that an agent sends on its own initiative. Returns an error if the limit is exceeded. */
  #countHop(tx: Writer, { id }: Team): Failure | null {
    const max = this.#deps.maxHops();
    const hops = this.#deps.store.hops(tx, id) + 1;
    this.#deps.store.setHops(tx, id, hops);
    if (max === 0 || hops <= max) return null;
    const message = `agents have sent ${max} messages in a row: delivery waits until somebody sends a turn to a member`;
    return { code: HOP_LIMIT, message };
  }
}

const HOP_LIMIT = 'hop_limit';

export function imagesAt(paths: readonly string[] | null | undefined): InputItem[] {
  return (paths ?? []).map((path) => ({ type: 'image', path }));
}

function recipientsOf(draft: Draft, team: Team, agents: readonly string[]): string[] {
  const { recipient_agent_id: one, sender_agent_id: sender } = draft;
  assertMember(agents, team, sender);
  if (one === null) return agents.filter((id) => draft.include_sender === true || id !== sender);
  assertMember(agents, team, one);
  return [one];
}

function hasImages({ input, image_paths }: Draft): boolean {
  const items = Array.isArray(input) ? input : [input];
  return (image_paths?.length ?? 0) > 0 || items.some(({ type }) => type === 'image');
}
