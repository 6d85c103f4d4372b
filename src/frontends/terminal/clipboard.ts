/** Terminals ignore a longer sequence. In characters of base64. */
const LONGEST = 74_994;

/**
 * Asks the terminal to put a text on the clipboard, by the sequence OSC 52; no terminal says whether it has done so.
 * Within tmux the sequence is also passed on to the terminal around it, since tmux obeys it only if it is set to.
 * Returns false, and writes nothing, for a text that is too long for a terminal (about 56 KB).
 */
export function toClipboard(
  terminal: { write: (text: string) => unknown },
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const data = Buffer.from(text).toString('base64');
  if (data.length > LONGEST) return false;
  const sequence = `\u001b]52;c;${data}\u0007`;
  terminal.write(env.TMUX ? `${sequence}\u001bPtmux;\u001b${sequence}\u001b\\` : sequence);
  return true;
}
