import type { Session } from '../../../api/sessions.ts';
import type {
  AgentKind,
  AgentUpdate,
  ProviderError,
  TurnSettings,
} from '../../../agents/provider.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';

export interface AgentKinds {
  /** Returns a kind of agent. Throws `provider_unavailable`. */
  usable: (provider: Session['provider'], agent: string | null) => AgentKind;
  /** Returns the name of the agent of a new session, where agents have names. Throws `invalid` for an unknown one. */
  agentFor: (id: Session['provider'], asked: string | null) => string | null;
  /** Returns the reason why an agent refuses the settings; null: it accepts them, or only a live one knows. */
  objection: (
    provider: Session['provider'],
    agent: string | null,
    settings: TurnSettings,
  ) => ProviderError | null;
}

/** One live agent, or one that starts, as the quotas count it. */
export interface AgentSlot {
  /** The session that owns the slot: the root of those that agents have spawned. */
  readonly family: string;
  readonly sessionId: string;
  readonly kind: string;
  /** Whether no other agent could resume its session; null until an agent of its kind has started. */
  isLasting: boolean | null;
  /** Whether a turn runs on it, or it is starting. */
  isBusy: boolean;
}

/** The notice of a session whose agent was ended and cannot resume it. */
export const endedToMakeRoom: AgentUpdate = {
  type: 'notice',
  code: 'agent_ended',
  message:
    'the idle agent of this session was stopped to make room for another session, and the agent cannot resume this session: open a new session',
};

/** The part of the slots that agents may take which cannot be ended when idle. */
const LASTING_PART = 1 / 2;
/** The part of the slots that one family may take. */
const FAMILY_PART = 3 / 4;
/** The maximum number of sessions that a message about missing slots names. */
const NAMED = 3;

export type Shortage = { by: 'lasting' | 'family' | 'unknown' | 'all'; message: string };

/**
 * Returns the reason why an agent of a session family gets none of `max` slots; null if it gets one. Agents of a kind that
 * has not started yet start one at a time, because all may be lasting. If they could exceed the quota of lasting agents,
 * only one agent of all such kinds starts. `ending`: the number of slots of agents that are ending.
 */
export function shortageFor(
  { family, kind, isLasting }: Pick<AgentSlot, 'family' | 'kind' | 'isLasting'>,
  taken: readonly AgentSlot[],
  max: number,
  ending = 0,
): Shortage | null {
  const lasting = taken.filter((one) => one.isLasting);
  const unknown = isLasting === null ? taken.filter((one) => one.isLasting === null) : [];
  const own = taken.filter((one) => one.family === family);
  const [mostLasting, mostOwn] = [quota(max, LASTING_PART), quota(max, FAMILY_PART)];
  if (own.length >= mostOwn)
    return {
      by: 'family',
      message: `session ${family} and its spawned sessions already use ${own.length} agents, and may use at most ${mostOwn} of the ${max} agents that providers.max_live allows${holders(own)}`,
    };
  if (isLasting && lasting.length >= mostLasting)
    return {
      by: 'lasting',
      message: `sessions that cannot be resumed already use ${lasting.length} agents, and may use at most ${mostLasting} of the ${max} agents that providers.max_live allows${holders(lasting)}`,
    };
  const mayExceed = unknown.length > 0 && lasting.length + unknown.length >= mostLasting;
  if (mayExceed || unknown.some((one) => one.kind === kind))
    return {
      by: 'unknown',
      message: `another agent of this kind is starting, and cadre must first check whether that agent can resume sessions${holders(unknown)}`,
    };
  if (taken.length + ending < max) return null;
  return {
    by: 'all',
    message: `${taken.length} agents are running, and providers.max_live allows ${max} agents${holders(taken)}`,
  };
}

function quota(max: number, part: number): number {
  return Math.max(1, Math.ceil(max * part));
}

function holders(taken: readonly AgentSlot[]): string {
  const busy = taken.filter(({ isBusy }) => isBusy).length;
  const idle = taken.filter((one) => !one.isBusy && one.isLasting);
  const rest = idle.length > 0 ? idle : taken;
  const names = rest.map(({ sessionId }) => sessionId);
  const what = idle.length > 0 ? `${idle.length} idle that cannot be resumed` : 'sessions';
  return `: ${busy} busy; ${what}: ${shortNameList(names, NAMED)}`;
}

export interface WaitingForSlot {
  session_id: string;
  waited_ms: number;
  reason: string;
}

export interface Waiting {
  slot: AgentSlot;
  /** When it began to wait (monotonic, in ms). */
  since: number;
  admitted: PromiseWithResolvers<void>;
  isServed: boolean;
}
