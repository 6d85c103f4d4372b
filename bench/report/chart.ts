/** A line of a chart. */
export interface Series {
  name: string;
  values: readonly number[];
}

export interface Chart {
  title: string;
  /** The places on the x axis, at equal distances. */
  places: readonly string[];
  /** Unit after each value, such as `x`. */
  unit: string;
  series: readonly Series[];
}

const SIZE = { width: 720, height: 400 };
const PLOT = { left: 56, top: 56, right: 470, bottom: 350 };
/** Eight colours that also people with a colour vision deficiency can tell apart. */
const COLOURS = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#7a5cbd',
  '#555555',
];
const LABEL_HEIGHT = 18;

/** Draws lines over a few places, from zero, each with its name and last value at its end, as an SVG document. */
export function lineChart({ title, places, unit, series }: Chart): string {
  const highest = Math.max(1, ...series.flatMap(({ values }) => values));
  const step = stepFor(highest);
  const top = Math.ceil(highest / step) * step;
  const x = (place: number) =>
    PLOT.left + 20 + ((PLOT.right - PLOT.left - 40) * place) / Math.max(1, places.length - 1);
  const y = (value: number) => PLOT.bottom - ((PLOT.bottom - PLOT.top) * value) / top;
  const grid = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => {
    const value = n * step;
    const line = `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${at(y(value))}" y2="${at(y(value))}" stroke="#dddddd"/>`;
    return `${line}\n${text(PLOT.left - 8, y(value) + 4, `${digits(value)}${unit}`, 'end')}`;
  });
  const names = places.map((place, n) => text(x(n), PLOT.bottom + 20, place, 'middle'));
  const labels = labelPlaces(series.map(({ values }) => y(values.at(-1) ?? 0)));
  const lines = series.map(({ name, values }, n) => {
    const colour = COLOURS[n % COLOURS.length] ?? '#000000';
    const points = values.map((value, place) => `${at(x(place))},${at(y(value))}`).join(' ');
    const dots = values.map(
      (value, place) =>
        `<circle cx="${at(x(place))}" cy="${at(y(value))}" r="3" fill="${colour}"/>`,
    );
    const end = `${name}, ${digits(values.at(-1) ?? 0)}${unit}`;
    return [
      `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...dots,
      text(PLOT.right + 8, (labels[n] ?? 0) + 4, end, 'start', colour),
    ].join('\n');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" font-family="sans-serif" font-size="13" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${SIZE.width}" height="${SIZE.height}" fill="#ffffff"/>`,
    text(PLOT.left, 28, title, 'start', '#222222', 16),
    ...grid,
    ...names,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

/** Where labels are written, so that none covers another: each at its line's end, or as little below as is needed. */
export function labelPlaces(ends: readonly number[]): number[] {
  const order = ends.map((end, index) => ({ end, index })).toSorted((a, b) => a.end - b.end);
  const places: number[] = [];
  let free = Number.NEGATIVE_INFINITY;
  for (const { end, index } of order) {
    const place = Math.max(end, free);
    places[index] = place;
    free = place + LABEL_HEIGHT;
  }
  return places;
}

/** A round distance between grid lines, of which there are at most six. */
function stepFor(highest: number): number {
  const rough = highest / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((one) => one * power >= rough) ?? 10) * power;
}

function text(x: number, y: number, content: string, anchor: string, fill = '#444444', size = 13) {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="${fill}" font-size="${size}">${escaped(content)}</text>`;
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function digits(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
