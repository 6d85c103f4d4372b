import type { Session, Turn, Usage } from '../../../src/api/sessions.ts';
import type { TestServer } from '../server.ts';

/** Longer than the 10 s for which a server waits for an interrupted agent. */
export const usualPatienceMs = 18_000;

/** The differences between providers and their agents that `describeProvider` depends on. */
export interface ProviderFixture {
  provider: Session['provider'];
  /** Whether its cases may run side by side. False if the agent is too large for several at once. */
  severalAtOnce: boolean;
  /** How long a case waits for an event (default `usualPatienceMs`). */
  patienceMs?: number;
  /** Whether the provider lists models (default true). */
  offersModels?: boolean;
  /** Makes the setup of one test in the given directory. */
  open(directory: string): Promise<ProviderSetup>;

  /** Prompt for an answer with this text, in several deltas. */
  sayWords(text: string): string;
  /** Prompt for an answer that streams for minutes. */
  longStream: string;
  /** Prompt for one tool call that prints a word; `title` is part of the tool's title. */
  runTool(word: string): { prompt: string; title: string };
  /** Prompt for an action that needs permission; its approval names `names`. Needs `StartOptions.asks`. */
  askPermission(cwd: string): {
    prompt: string;
    names: string;
    /** Reports whether the action was done, if that can be observed. */
    wasDone?: () => boolean;
  };
  /** Effect of a request for permission in a mode without approvals: the turn fails, the request is declined, or there is no request. */
  unasked: 'fails' | 'declined' | 'runs';
  /** End of a turn whose approval was declined (default `turn.completed`). */
  declinedEnd?: 'turn.interrupted';
  /** Left out if requests do not describe the whole action, so that no answer applies to a repeated request. */
  approvedAway?: LeftOut;
  /** Prompt for a report on the images of the turn. */
  showImages: string;
  /** Prompt for a report of everything that the agent remembers. */
  recall: string;

  // Behaviour that some agents cannot be made to show.
  /** Prompt for this reasoning text before an answer. */
  think: Optional<(text: string) => string>;
  /** Prompt for a tool call that runs for minutes. */
  longTool: Optional<string>;
  /** Prompt for an answer during which the agent dies, by itself or because of `provoke`. */
  crash: Optional<{ prompt: string; provoke?: (agents: number[]) => void; says: string }>;
  /** Prompt for a line that is not a protocol message, between two texts. */
  garbage: Optional<{ prompt: string; texts: string[] }>;
  /** Prompt for one line of at least so many bytes. */
  longLine: Optional<(bytes: number) => string>;
  /** Prompt for a turn without output that does not end. */
  silence: Optional<string>;
  /** Prompt for a turn that ignores an interrupt and completes later. */
  lateAnswer: Optional<string>;
  /** Reports whether the agent has started on `lateAnswer`. Absent if the agent streams a delta first. */
  hasBegun?: (cwd: string) => boolean;
  /** Prompt for a turn that ignores an interrupt and does not end. */
  ignoreCancel: Optional<string>;
  /** Makes the agents ignore the interrupt if the prompt alone does not. */
  deafen?: (agents: number[]) => void;
  /** Prompt for a text that follows the end of the turn. */
  lateWords: Optional<(text: string) => string>;
  /** Prompt for the failure of an agent without a valid login. */
  loggedOut: Optional<string>;
  /** Prompt for a turn with a usage report. */
  usage: Optional<{ prompt: string; usage: Partial<Usage> }>;
}

/** A value, or the reason why the agent cannot show the behaviour. */
export type Optional<T> = T | LeftOut;
export interface LeftOut {
  leftOut: string;
}

export function isLeftOut<T>(phase: Optional<T>): phase is LeftOut {
  return typeof phase === 'object' && phase !== null && 'leftOut' in phase;
}

export interface StartOptions {
  /** Whether the agent requests permission. */
  asks?: boolean;
  /** More environment variables of the server. */
  env?: Record<string, string>;
}

export interface ProviderSetup extends AsyncDisposable {
  /** Starts a server with the provider. A later call starts it again on the same data. */
  start(options?: StartOptions): Promise<TestServer>;
  /** Returns the memory of the agent from a turn that sent `recall`. */
  memoryIn(turn: Turn): string;
  /** Returns the images that reached the agent from a turn that sent `showImages`. */
  imagesIn(turn: Turn): { mediaType: string; bytes: number }[];
}
