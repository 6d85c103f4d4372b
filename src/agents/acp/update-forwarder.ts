import type { RateLimit } from '../claude-limits.ts';
import { Omissions } from '../omissions.ts';
import { type AgentSink, report, type TurnSettings } from '../provider.ts';
import { MessageBudget } from '../budget.ts';
import { ToolCallTracker } from './tool-call-tracker.ts';
import type { PermissionPromptMonitor } from './permission-prompt-monitor.ts';
import { withMediaKept } from './kept-media.ts';
import { limitAfterUpdate } from './limits.ts';
import type { ReportedCall } from './reported-call.ts';
import { Subagents } from './subagents.ts';
import { isOfSession, readUpdate } from './updates.ts';
import type { UsageMeter } from './usage.ts';

interface Dependencies {
  sink: AgentSink;
  meter: UsageMeter;
  frankness: PermissionPromptMonitor;
  onUnknown: () => void;
  /** Called when the agent begins to work: it says, thinks or does something. */
  onWork: () => void;
}

/** Hands on what an agent reports. `other` is the session of a subagent; null: it is of the agent itself. */
export class UpdateForwarder {
  /** What the agent has reported of its tool calls. */
  readonly calls = new ToolCallTracker();
  readonly #deps: Dependencies;
  readonly #subagents = new Subagents();
  readonly #omissions = new Omissions();
  #rateLimit: RateLimit | null = null;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** What the agent has told of the limits of its account in this turn; null where it has told nothing. */
  get rateLimit(): RateLimit | null {
    return this.#rateLimit;
  }

  beginTurn(): void {
    this.#rateLimit = null;
    this.#omissions.beginTurn();
    this.calls.beginTurn();
    this.#subagents.clear();
  }

  endTurn(): void {
    this.calls.endTurn();
    this.#subagents.clear();
  }

  /** Takes an update of a turn, of the session, or of what goes on after a turn. */
  forward(raw: unknown, other: string | null, settings: TurnSettings): Promise<void> | undefined {
    const { sink } = this.#deps;
    const kept = withMediaKept(raw, (data) => sink.saveFile(data));
    return kept instanceof Promise
      ? kept.then((one) => this.#takeKept(one, other, settings))
      : this.#takeKept(kept, other, settings);
  }

  /** Takes an update while the agent replays a history or confirms a setting: only what is of the session counts. */
  forwardOfSession(raw: unknown, other: string | null): Promise<void> | undefined {
    const update = readUpdate(new MessageBudget().bounded(raw));
    const counts = typeof update !== 'string' && other === null && isOfSession(update);
    return counts ? this.#deps.sink.update(update) : undefined;
  }

  #takeKept(raw: unknown, other: string | null, settings: TurnSettings): Promise<void> | undefined {
    const { sink, meter, frankness, onUnknown, onWork } = this.#deps;
    const budget = new MessageBudget();
    const news = budget.bounded(raw);
    const read = readUpdate(news, budget);
    if (read === 'unknown') onUnknown();
    if (typeof read === 'string') return undefined;
    for (const notice of this.#omissions.of(raw, budget)) void sink.update(notice);
    const update = other === null ? read : this.#subagents.read(other, read);
    if (!update) return undefined;
    const used = meter.request(news);
    if (used) void sink.update({ type: 'usage', usage: used });
    if (WORK.has(update.type)) onWork();
    if (update.type === 'usage') this.#rateLimit = limitAfterUpdate(this.#rateLimit, news);
    if (update.type === 'usage')
      return sink.update({ type: 'usage', usage: meter.ofSession(update.usage) });
    if (update.type !== 'tool' || read.type !== 'tool') return sink.update(update);
    const reported = this.calls.reported(update.ref, news as ReportedCall, update.change, {
      raw: raw as ReportedCall,
      budget,
    });
    if (!reported) return undefined;
    const unasked = frankness.afterCall(reported.call, settings);
    const shown = { ...update, change: reported.change };
    if (!unasked) return sink.update(shown);
    return report(sink, [shown, { type: 'notice', ...unasked }]);
  }
}

const WORK: ReadonlySet<string> = new Set(['message', 'reasoning', 'tool', 'plan']);
