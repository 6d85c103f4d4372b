/** Terminals drop a longer sequence. In bytes of base64; xterm and tmux take about as much. */
const LONGEST = 74_994;

/**
 * Asks the terminal to put a text on the clipboard, by the sequence OSC 52. No terminal says whether it has done so.
 * Returns false, and writes nothing, for a text that is too long for a terminal.
 */
export function toClipboard(
  terminal: { write: (text: string) => unknown },
  text: string,
  env: Readonly<Record<string, string | undefined>> = {},
): boolean {
  const data = Buffer.from(text).toString('base64');
  if (data.length > LONGEST) return false;
  terminal.write(passedOn(`\u001b]52;c;${data}\u0007`, env));
  return true;
}

/** GNU screen passes a sequence on to its terminal only within another one; tmux understands OSC 52 itself. */
function passedOn(sequence: string, { TERM = '', STY }: Readonly<Record<string, string | undefined>>) {
  if (!STY && !TERM.startsWith('screen')) return sequence;
  if (!STY) return sequence;
  return `\u001bP${sequence.replace('\u0007', '\u001b\\\u0007')}\u001b\\`;
}
