/** A part of a line of a terminal in one style. */
interface Part {
  text: string;
  /** A colour of the palette or #rrggbb; null: the default one. */
  color: string | null;
  background: string | null;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isInverse: boolean;
}

/** A picture of a terminal: lines with SGR sequences, as `tmux capture-pane -e` prints them. */
export interface Frame {
  lines: readonly string[];
  /** How long an animation shows it, in ms. */
  shownMs: number;
}

const CELL = { width: 8.4, height: 18 } as const;
const PADDING = 14;
const BAR = 30;

/** The sixteen colours of a terminal, as in many dark themes. */
const COLORS = [
  '#3b4252',
  '#e06c75',
  '#7fc37f',
  '#e5c07b',
  '#61afef',
  '#c678dd',
  '#56b6c2',
  '#d7dae0',
  '#6b7486',
  '#ef7f88',
  '#98d698',
  '#f0d08c',
  '#7fc1f7',
  '#d79bea',
  '#6fd0dc',
  '#ffffff',
] as const;
const TEXT = '#d7dae0';
const BACKGROUND = '#1e222a';

/** An SVG picture of frames of a terminal of that size; more than one are an endless animation. */
export function terminalSvg(
  frames: readonly Frame[],
  { columns, rows, title }: { columns: number; rows: number; title: string },
): string {
  const width = Math.ceil(columns * CELL.width + 2 * PADDING);
  const height = rows * CELL.height + 2 * PADDING + BAR;
  const total = frames.reduce((sum, { shownMs }) => sum + shownMs, 0);
  let at = 0;
  const groups = frames.map(({ lines, shownMs }, n) => {
    const [from, to] = [(at / total) * 100, ((at + shownMs) / total) * 100];
    at += shownMs;
    const drawn = lines.slice(0, rows).map(lineSvg).join('');
    if (frames.length === 1) return { style: '', svg: `<g>${drawn}</g>` };
    const style =
      `@keyframes f${n}{0%{opacity:${from === 0 ? 1 : 0}}${percent(from)}{opacity:1}${percent(to)}{opacity:${to >= 100 ? 1 : 0}}100%{opacity:${to >= 100 ? 1 : 0}}}` +
      `.f${n}{animation:f${n} ${total}ms step-end infinite}`;
    return { style, svg: `<g class="f${n}">${drawn}</g>` };
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:${TEXT}}.b{font-weight:700}.d{opacity:.6}.i{font-style:italic}${groups.map(({ style }) => style).join('')}</style>
<rect width="${width}" height="${height}" rx="9" fill="${BACKGROUND}"/>
<circle cx="18" cy="16" r="5.5" fill="#e06c75"/><circle cx="37" cy="16" r="5.5" fill="#e5c07b"/><circle cx="56" cy="16" r="5.5" fill="#7fc37f"/>
<g transform="translate(${PADDING} ${BAR + PADDING})">
${groups.map(({ svg }) => svg).join('\n')}
</g>
</svg>
`;
}

function lineSvg(line: string, row: number): string {
  let column = 0;
  return partsOf(line)
    .map((part) => {
      const x = round(column * CELL.width);
      const cells = cellsOf(part.text);
      column += cells;
      const length = round(cells * CELL.width);
      const [ink, paper] = part.isInverse
        ? [part.background ?? BACKGROUND, part.color ?? TEXT]
        : [part.color, part.background];
      const y = row * CELL.height;
      const back =
        paper === null
          ? ''
          : `<rect x="${x}" y="${y - 3}" width="${length}" height="${CELL.height}" fill="${paper}"/>`;
      if (part.text.trim() === '') return back;
      const names = [part.isBold && 'b', part.isDim && 'd', part.isItalic && 'i'].filter(Boolean);
      const kind = names.length > 0 ? ` class="${names.join(' ')}"` : '';
      const fill = ink === null ? '' : ` style="fill:${ink}"`;
      return `${back}<text x="${x}" y="${y + 11}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${kind}${fill}>${escaped(part.text)}</text>`;
    })
    .join('');
}

/** The parts of a line, each with its style. */
export function partsOf(line: string): Part[] {
  const parts: Part[] = [];
  let style: Omit<Part, 'text'> = plain;
  for (const [piece, codes] of line.matchAll(/\u001b\[([\d;]*)m|[^\u001b]+/g)) {
    if (codes === undefined) parts.push({ ...style, text: piece });
    else style = styled(style, codes === '' ? [0] : codes.split(';').map(Number));
  }
  return parts;
}

const plain = {
  color: null,
  background: null,
  isBold: false,
  isDim: false,
  isItalic: false,
  isInverse: false,
} as const;

function styled(before: Omit<Part, 'text'>, codes: readonly number[]): Omit<Part, 'text'> {
  const style = { ...before };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const isRgb = codes[at + 1] === 2;
      const color = isRgb ? rgb(codes.slice(at + 2, at + 5)) : indexed(codes[at + 2] ?? 0);
      Object.assign(style, code === 38 ? { color } : { background: color });
      at += isRgb ? 4 : 2;
    } else Object.assign(style, change(code));
  }
  return style;
}

function change(code: number): Partial<Omit<Part, 'text'>> {
  if (code === 0) return plain;
  if (code === 1) return { isBold: true };
  if (code === 2) return { isDim: true };
  if (code === 3) return { isItalic: true };
  if (code === 7) return { isInverse: true };
  if (code === 22) return { isBold: false, isDim: false };
  if (code === 23) return { isItalic: false };
  if (code === 27) return { isInverse: false };
  if (code === 39) return { color: null };
  if (code === 49) return { background: null };
  if (code >= 30 && code <= 37) return { color: COLORS[code - 30] ?? null };
  if (code >= 90 && code <= 97) return { color: COLORS[code - 82] ?? null };
  if (code >= 40 && code <= 47) return { background: COLORS[code - 40] ?? null };
  if (code >= 100 && code <= 107) return { background: COLORS[code - 92] ?? null };
  return {};
}

/** A colour of the 256. */
function indexed(index: number): string {
  if (index < 16) return COLORS[index] ?? TEXT;
  if (index >= 232) return rgb([1, 1, 1].map(() => 8 + (index - 232) * 10));
  const levels = [0, 95, 135, 175, 215, 255];
  const at = index - 16;
  return rgb([Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((one) => levels[one] ?? 0));
}

function rgb(values: readonly number[]): string {
  return `#${values.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
}

/** The number of cells of a text. The pictures hold no character that is wider than one. */
function cellsOf(text: string): number {
  return Array.from(text).length;
}

function percent(value: number): string {
  return `${Math.round(value * 1000) / 1000}%`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
