import type { Client } from '../../client/client.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Acts } from '../acts.ts';
import type { Desk } from '../desk.ts';
import type { Editor } from '../forms/editor.ts';
import type { Choices } from '../forms/new-session.tsx';
import type { Board } from '../list/board.ts';
import type { Source } from '../source.ts';
import type { Terminal } from '../terminal.ts';

/** What the screen has for as long as it is open, whichever page is shown. */
export interface Place {
  client: Client;
  clock: Clock;
  desk: Desk;
  board: Board;
  acts: Acts;
  terminal: Terminal;
  /** What was begun to be said, by session. */
  drafts: Map<string, Editor>;
  /** What was chosen for the last new session of this run. */
  choices: Source<Choices>;
}
