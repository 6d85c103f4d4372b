import type { Clock } from '../../core/lib/clock.ts';
import type { AgentTools, TurnOutcome } from '../provider.ts';
import type { CodexModel } from './models.ts';
import type { LoginSituation } from '../own-home.ts';

/** What the agent of a session is given besides the session. */
export interface CodexOptions {
  clock: Clock;
  signal: AbortSignal;
  models: readonly CodexModel[];
  /** How codex is logged in. */
  login: LoginSituation;
  /** Takes the end of each turn, and returns it. */
  onEnded: (outcome: TurnOutcome) => TurnOutcome;
  /** The tools that the agent of a session is given. */
  toolsFor: (sessionId: string) => AgentTools;
  /** The variables that commands in a directory get. */
  variablesAt: (directory: string) => Record<string, string>;
  onUnknown: () => void;
}
