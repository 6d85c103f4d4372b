/** The frames in which agents are told what was not said by a person. */
export type FrameName = 'team_message' | 'process_exit' | 'process_output';

const names: readonly FrameName[] = ['team_message', 'process_exit', 'process_output'];

/** Invisible characters, which a reader passes over, may stand anywhere in a name. */
const anyFrame = new RegExp(
  `<(?=[\\s\\p{Cf}/]*(?:${names.map((name) => name.split('').join('\\p{Cf}*')).join('|')}))`,
  'giu',
);

/** A text within a frame that says whose it is. The text is to be plain, or made of frames. */
export function frame(
  name: FrameName,
  attributes: Readonly<Record<string, string>>,
  text: string,
): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${quoted(value)}"`);
  return `<${name}${given.join('')}>\n${text}\n</${name}>`;
}

/** A text in which nothing opens or closes a frame; all else, code above all, stays as it was written. */
export function withoutFrames(text: string): string {
  return text.replaceAll(anyFrame, '&lt;');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function quoted(value: string): string {
  return value.replaceAll(/[&<>"]/g, (one) => entities[one] ?? one).replaceAll(/\s+/g, ' ');
}
