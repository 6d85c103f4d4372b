import { z } from 'zod';
import type { RateLimit } from '../claude-limits.ts';
import { Omissions, MessageBudget, DERIVED_LIMITS } from '../budget.ts';
import {
  type AgentSink,
  report,
  type TurnSettings,
  type KeptFile,
  type AgentUpdate,
} from '../provider.ts';
import { fieldOf, idText } from '../lenient.ts';
import { SizedMap } from '../sized-map.ts';
import { MAX_KEPT_UNITS, MAX_OPEN, ToolCallTracker } from './tool-call-tracker.ts';
import type { PermissionPromptMonitor } from './permission-prompt-monitor.ts';
import { limitAfterUpdate } from './outcome.ts';
import type { ReportedCall } from './reported-call.ts';
import { isOfSession, readUpdate } from './updates.ts';
import type { UsageMeter } from './usage.ts';
import type { StoredTool } from '../attached-turn.ts';

type UpdateSink = Pick<AgentSink, 'update'>;

interface Dependencies {
  saveFile: AgentSink['saveFile'];
  meter: UsageMeter;
  promptMonitor: PermissionPromptMonitor;
  onUnknown: () => void;
  /** Called when the agent begins to work: it says, thinks or does something. */
  onWork: () => void;
}

/** Hands on what an agent reports. `other` is the session of a subagent; null: it is of the agent itself. */
export class UpdateForwarder {
  readonly calls = new ToolCallTracker();
  readonly #deps: Dependencies;
  readonly #subagents = new Subagents();
  readonly #omissions = new Omissions();
  /** Limits of the account that the agent reported in this turn. Null if it reported none. */
  rateLimit: RateLimit | null = null;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  beginTurn(): void {
    this.rateLimit = null;
    this.#omissions.beginTurn();
    this.calls.beginTurn();
    this.#subagents.clear();
  }

  endTurn(): void {
    this.calls.endTurn();
    this.#subagents.clear();
  }

  save() {
    return {
      rateLimit: this.rateLimit,
      omissions: this.#omissions.save(),
      calls: this.calls.save(),
      subagents: this.#subagents.save(),
    };
  }

  /** `tools`: the tools of the turn as they are stored. */
  restore(saved: ReturnType<UpdateForwarder['save']>, tools: readonly StoredTool[]): void {
    this.rateLimit = saved.rateLimit;
    this.#omissions.restore(saved.omissions);
    this.calls.restore(saved.calls, tools);
    this.#subagents.restore(saved.subagents, tools);
  }

  /** Forwards an update of a turn, of the session, or of work after a turn. */
  forward(
    raw: unknown,
    other: string | null,
    { settings, line }: { settings: TurnSettings; line: UpdateSink },
  ): Promise<void> | undefined {
    const { saveFile } = this.#deps;
    const kept = withMediaKept(raw, saveFile);
    return kept instanceof Promise
      ? kept.then((one) => this.#takeKept(one, other, settings, line))
      : this.#takeKept(kept, other, settings, line);
  }

  /** Takes an update while the agent replays a history or confirms a setting: only what is of the session counts. */
  forwardOfSession(
    raw: unknown,
    other: string | null,
    line: UpdateSink,
  ): Promise<void> | undefined {
    const update = readUpdate(new MessageBudget().bounded(raw));
    const counts = typeof update !== 'string' && other === null && isOfSession(update);
    return counts ? line.update(update) : undefined;
  }

  #takeKept(
    raw: unknown,
    other: string | null,
    settings: TurnSettings,
    line: UpdateSink,
  ): Promise<void> | undefined {
    const { meter, promptMonitor, onUnknown, onWork } = this.#deps;
    const budget = new MessageBudget();
    const news = budget.bounded(raw);
    const read = readUpdate(news, budget);
    if (read === 'unknown') onUnknown();
    if (typeof read === 'string') return undefined;
    for (const notice of this.#omissions.of(raw, budget)) void line.update(notice);
    const update = other === null ? read : this.#subagents.read(other, read);
    if (!update) return undefined;
    const used = meter.request(news);
    if (used) void line.update({ type: 'usage', usage: used });
    if (WORK.has(update.type)) onWork();
    if (update.type === 'usage') this.rateLimit = limitAfterUpdate(this.rateLimit, news);
    if (update.type === 'usage')
      return line.update({ type: 'usage', usage: meter.ofSession(update.usage) });
    if (update.type !== 'tool' || read.type !== 'tool') return line.update(update);
    const reported = this.calls.reported(update.ref, news as ReportedCall, update.change, {
      raw: raw as ReportedCall,
      budget,
    });
    if (!reported) return undefined;
    const unasked = promptMonitor.afterCall(reported.call, settings);
    const shown = { ...update, change: reported.change };
    if (!unasked) return line.update(shown);
    return report(line, [shown, { type: 'notice', ...unasked }]);
  }
}

const WORK: ReadonlySet<string> = new Set(['message', 'reasoning', 'tool', 'plan']);

/** Keeps the data of an image, a sound or a file; null where it is too large to be kept. */
type KeepMedia = (bytes: Buffer) => Promise<KeptFile | null>;

/** If an update has more images and files than this, none is kept. */
const MAX_KEPT = 32;

/**
 * An update whose blocks hold no data: it is kept elsewhere, and the block says where. The update itself, at once, where
 * it has no such block.
 */
function withMediaKept(update: unknown, keep: KeepMedia): unknown {
  const content = fieldOf(update, 'content');
  const parts: readonly unknown[] | null = Array.isArray(content) ? content : null;
  if (parts && parts.length > DERIVED_LIMITS.entries) return update;
  const blocks = parts ? parts.map((part) => fieldOf(part, 'content')) : [content];
  const count = blocks.filter((block) => dataOf(block) !== null).length;
  if (count === 0 || count > MAX_KEPT) return update;
  return Promise.all(blocks.map((block) => withoutData(block, keep))).then((kept) => {
    const keptPart = (part: unknown, at: number) =>
      kept[at] === blocks[at] ? part : { ...(part as object), content: kept[at] };
    return { ...(update as object), content: parts ? parts.map(keptPart) : kept[0] };
  });
}

const withData = z.looseObject({ type: z.enum(['image', 'audio']), data: z.string() });
const withBlob = z.looseObject({
  type: z.literal('resource'),
  resource: z.looseObject({ blob: z.string() }),
});

const WITH_DATA: ReadonlySet<unknown> = new Set(['image', 'audio', 'resource']);

/** The data of a block; null where it has none, and where it is cut. */
function dataOf(block: unknown): string | null {
  if (!WITH_DATA.has(fieldOf(block, 'type'))) return null;
  const data =
    withData.safeParse(block).data?.data ?? withBlob.safeParse(block).data?.resource.blob ?? null;
  return data?.endsWith(']') ? null : data;
}

async function withoutData(block: unknown, keep: KeepMedia): Promise<unknown> {
  const data = dataOf(block);
  const kept = data === null ? null : await keep(Buffer.from(data, 'base64'));
  if (!kept) return block;
  const media = withData.safeParse(block).data;
  if (media) return { ...media, data: null, kept };
  const embedded = withBlob.parse(block);
  return { ...embedded, resource: { ...embedded.resource, blob: null, kept } };
}

/** One subagent, as it is shown. */
interface Shown {
  text: string;
  /** The agent's id of the message that it said last. */
  message: string | undefined;
}

/**
 * Messages of the subagents of an agent, which have their own sessions on the same connection. The texts of a subagent
 * are the output of one tool call, and its calls are shown next to the calls of the agent. The subagents of a turn have the
 * limits of open calls; what they say beyond these is not shown.
 */
class Subagents {
  readonly #shown = new SizedMap<Shown>(({ text }) => text.length);

  /** A turn begins or ends: what is said from now on is shown by calls of its own. */
  clear(): void {
    this.#shown.clear();
  }

  /** The subagents, the lengths of their texts, and their last messages. The outputs of their calls begin with the texts. */
  save(): [session: string, length: number, message: string | undefined][] {
    return [...this.#shown].map(([session, { text, message }]) => [session, text.length, message]);
  }

  restore(saved: ReturnType<Subagents['save']>, tools: readonly StoredTool[]): void {
    for (const [session, length, message] of saved) {
      const stored = tools.find(({ ref }) => ref === callOf(session))?.text ?? '';
      this.#shown.set(session, { text: stored.slice(0, length), message: message ?? undefined });
    }
  }

  /** An update of another session as it is shown; null for what is of that session alone. */
  read(session: string, update: AgentUpdate): AgentUpdate | null {
    switch (update.type) {
      case 'message':
        return this.#say(session, update.text, update.ref);
      case 'title':
        return this.#entitle(session, update.title);
      case 'tool':
        return { ...update, ref: refIn(session, update.ref) };
      case 'notice':
        return update;
      default:
        return null;
    }
  }

  #say(session: string, text: string, message: string | undefined): AgentUpdate | null {
    const shown = this.#shown.get(session);
    if (text === '' || (shown?.text.length ?? 0) >= DERIVED_LIMITS.text) return null;
    if (this.#shown.total >= MAX_KEPT_UNITS || (!shown && this.#shown.size >= MAX_OPEN))
      return null;
    const before = shown?.message;
    const isNext = before !== undefined && message !== undefined && before !== message;
    const whole = `${shown?.text ?? ''}${isNext ? '\n\n' : ''}${text}`;
    this.#shown.set(session, { text: whole, message });
    return toolOf(session, {
      ...(shown ? {} : { title: `subagent ${session}` }),
      kind: 'think',
      status: 'running',
      output: whole,
    });
  }

  #entitle(session: string, title: string): AgentUpdate {
    if (!this.#shown.has(session) && this.#shown.size < MAX_OPEN)
      this.#shown.set(session, { text: '', message: undefined });
    return toolOf(session, { title: `subagent: ${title}`, kind: 'think' });
  }
}

/** Returns the session of a message if it differs from `ref`; `ref` is empty until the agent's session is open. */
export function otherSession(params: unknown, ref: string): string | null {
  const sessionId = idText.safeParse(fieldOf(params, 'sessionId')).data;
  return sessionId === undefined || ref === '' || sessionId === ref ? null : sessionId;
}

/** Returns a unique id for a tool call of another session, because both sessions may use the same id. */
export function refIn(session: string | null, ref: string): string {
  return session === null ? ref : `${session}/${ref}`;
}

function toolOf(
  session: string,
  change: Extract<AgentUpdate, { type: 'tool' }>['change'],
): AgentUpdate {
  return { type: 'tool', ref: callOf(session), change };
}

function callOf(session: string): string {
  return `subagent/${session}`;
}
