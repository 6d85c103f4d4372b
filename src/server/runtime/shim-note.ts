import type { Shim } from '../../core/children/shim/shim.ts';

/** The facts about a server that its agents use. They are on no disk: the shim keeps them for the next server. */
interface ShimNote {
  /** The secret of the tokens of their sessions. */
  secret: string;
  /** The address at which they reach the tools. */
  url: string;
}

/** Returns the note of the last server. Null if there is none. */
export function readNote(shim: Shim | null): ShimNote | null {
  return shim?.note ? (JSON.parse(shim.note) as ShimNote) : null;
}

export function leaveNote(shim: Shim | null, note: ShimNote): void {
  shim?.leaveNote(JSON.stringify(note));
}
