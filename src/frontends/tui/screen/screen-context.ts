import type { Client } from '../../../client/client.ts';
import type { Edit } from '../../../client/review.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { PromptHistory } from '../../../core/lib/prompt-history.ts';
import type { DiffLayout } from '../../../core/lib/screen-settings.ts';
import type { UserActions } from '../user-actions.ts';
import type { Editor } from '../forms/editor.ts';
import type { Choices } from '../forms/new-session.tsx';
import type { ListState } from '../list/list-state.ts';
import type { Observable } from '../observable.ts';
import type { OverviewStore } from '../overview-store.ts';
import type { Notices } from '../react-hooks.ts';
import type { Terminal } from '../terminal.ts';
import type { KeyBindings } from './key-bindings.ts';

/**
 * Returns the client of the server with a name, or of the server that has the item with an id. With one server, it is the
 * only client.
 */
export function clientOf(
  { overviewStore, client }: ScreenContext,
  { id = '', name = overviewStore.overview.get().nodes.get(id)?.name }: ServerQuery,
): Client {
  return overviewStore.nodes.get().find((node) => node.name === name)?.client ?? client;
}

interface ServerQuery {
  id?: string | undefined;
  name?: string | undefined;
}

/** The parts that the screen has while it is open, on every page. */
export interface ScreenContext {
  client: Client;
  clock: Clock;
  overviewStore: OverviewStore;
  listState: ListState;
  actions: UserActions;
  /** The same on one of several servers, by its name. */
  actionsOn: (node: string) => UserActions;
  terminal: Terminal;
  /** Has a person edit a text on the terminal; null where that cannot be. */
  edit: Edit | null;
  /** Opens a shell or an editor on the terminal; null where that cannot be. */
  runProgram: RunProgram | null;
  keys: KeyBindings;
  diff: DiffLayout;
  /** The prompts that were sent before; null where nothing is kept. */
  history: PromptHistory | null;
  /** Unsent prompts by session. */
  drafts: Map<string, Editor>;
  /** The fields of the last new session. */
  choices: Observable<Choices>;
}

export interface DialogProps {
  context: ScreenContext;
  notices: Notices;
  rows: number;
  columns: number;
  onLeave: () => void;
}

/** A program of the user that works in a directory. */
export type DirectoryProgram = 'shell' | 'editor';

interface ProgramLocation {
  directory: string;
  /** The address of the server that has named the directory. */
  url: string;
}

/**
 * Checks whether a program can run in a directory, and resolves with the function that runs the program until the user leaves
 * it. Only that function uses the terminal. Throws an AppError if the server is on another machine, or the directory is missing.
 */
export type PrepareProgram = (
  program: DirectoryProgram,
  location: ProgramLocation,
) => Promise<() => Promise<void>>;

/** Runs a program in a directory, on the terminal of the screen. Throws an AppError. */
export type RunProgram = (program: DirectoryProgram, location: ProgramLocation) => Promise<void>;
