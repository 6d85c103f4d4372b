/** The XML-like frames around every text that reaches an agent from another source than a person. */
export type FrameName =
  | 'team_message'
  | 'process_exit'
  | 'process_output'
  | 'failed_check'
  | 'watched_output'
  | 'handoff_record';

const names: readonly FrameName[] = [
  'team_message',
  'process_exit',
  'process_output',
  'failed_check',
  'watched_output',
  'handoff_record',
];

/** The beginning of any frame tag. A model ignores invisible characters, so they may stand anywhere in the name. */
const anyFrame = new RegExp(
  `<(?=[\\s\\p{Cf}/]*(?:${names.map((name) => name.split('').join('\\p{Cf}*')).join('|')}))`,
  'giu',
);

/**
 * Puts a text into a frame whose attributes say where it comes from. The caller removes frame tags from the text first
 * (`withoutFrames`), unless the text consists of frames.
 */
export function frame(
  name: FrameName,
  attributes: Readonly<Record<string, string>>,
  text: string,
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${quoted(value)}"`);
  return `<${name}${written.join('')}>\n${text}\n</${name}>`;
}

/** Escapes whatever could open or close a frame. All other text, such as code, stays unchanged. */
export function withoutFrames(text: string): string {
  return text.replaceAll(anyFrame, '&lt;');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function quoted(value: string): string {
  return value.replaceAll(/[&<>"]/g, (one) => entities[one] ?? one).replaceAll(/\s+/g, ' ');
}
