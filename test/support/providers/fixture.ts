import type { Session, Turn, Usage } from '../../../src/api/sessions.ts';
import type { TestServer } from '../server.ts';

/** Some time over the 10 s that a server waits for an agent that was interrupted. */
export const usualPatienceMs = 18_000;

/** What describeProvider needs to know of a provider and of the agent behind it. */
export interface ProviderFixture {
  provider: Session['provider'];
  /** Whether its cases may run side by side: not where a few agents are all that the machine can bear. */
  severalAtOnce: boolean;
  /** How long a case waits for an event: `usualPatienceMs`, unless the agent is slow. */
  patienceMs?: number;
  /** Whether it has models to choose from; that is usual. */
  offersModels?: boolean;
  /** Makes the world of one test, all of it in a directory of its own. */
  open(directory: string): Promise<ProviderWorld>;

  /** Says a text of several words, in pieces. */
  sayWords(text: string): string;
  /** Speaks, piece by piece and for minutes, unless it is interrupted. */
  longStream: string;
  /** Runs one tool that prints a word; `title` is in the tool's title. */
  runTool(word: string): { prompt: string; title: string };
  /** Asks for permission; `names` is in whatever tells a person of it. Only with `StartOptions.asks`. */
  askPermission(cwd: string): {
    prompt: string;
    names: string;
    /** Whether what it asked for was really done, where that can be seen from outside. */
    wasDone?: () => boolean;
  };
  /** What becomes of a request for permission where nobody is to be asked: it fails the turn, or is declined. */
  unasked: 'fails' | 'declined';
  /** How a turn ends in which that was declined: it completes, unless a refusal also stops the agent. */
  declinedEnd?: 'turn.interrupted';
  /** Left out where its requests do not say all of what they would do, so that no answer holds for a later one. */
  approvedAway?: LeftOut;
  /** Looks at the images of its turn. */
  showImages: string;
  /** What is asked to have the memory of the agent shown. */
  recall: string;

  // What not every agent can be made to do.
  /** Thinks a text of several words, before it says something. */
  think: Optional<(text: string) => string>;
  /** A tool that runs for minutes. */
  longTool: Optional<string>;
  /** Dies at its work, having said something; by itself, or by what `provoke` does then. */
  crash: Optional<{ prompt: string; provoke?: (agents: number[]) => void; says: string }>;
  /** Writes a line that is no message, between two texts. */
  garbage: Optional<{ prompt: string; texts: string[] }>;
  /** Writes one line of so many bytes and more. */
  longLine: Optional<(bytes: number) => string>;
  /** Says nothing, and does not end. */
  silence: Optional<string>;
  /** Does not listen to the interrupt: says something, and after a while ends as if nothing had been. */
  lateAnswer: Optional<string>;
  /** Whether it is at its late answer, where it says nothing before. */
  hasBegun?: (cwd: string) => boolean;
  /** Says something, does not listen to the interrupt, and does not end. */
  ignoreCancel: Optional<string>;
  /** Brings it to ignore the interrupt, where its prompt alone does not. */
  deafen?: (agents: number[]) => void;
  /** Ends the turn, and only then says this text. */
  lateWords: Optional<(text: string) => string>;
  /** Fails as it does where its login has ended. */
  loggedOut: Optional<string>;
  /** Reports what it has used. */
  usage: Optional<{ prompt: string; usage: Partial<Usage> }>;
}

/** Left out, with the reason, where the agent cannot be brought to it. */
export type Optional<T> = T | LeftOut;
export interface LeftOut {
  leftOut: string;
}

export function isLeftOut<T>(phase: Optional<T>): phase is LeftOut {
  return typeof phase === 'object' && phase !== null && 'leftOut' in phase;
}

export interface StartOptions {
  /** Whether the agent asks before it does what may need permission. */
  asks?: boolean;
  /** More of the server's environment. */
  env?: Record<string, string>;
}

export interface ProviderWorld extends AsyncDisposable {
  /** Starts a server with the provider; again, once it has ended, on the same data. */
  start(options?: StartOptions): Promise<TestServer>;
  /** What the agent showed it remembers, in a turn that sent `recall`. */
  memoryIn(turn: Turn): string;
  /** The images that reached the agent, in a turn that sent `showImages`. */
  imagesIn(turn: Turn): { mediaType: string; bytes: number }[];
}
