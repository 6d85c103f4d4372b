import { colorless, type Palette, paletteFor, type Style } from '../terminal/palette.ts';

export interface Layout {
  /** The columns of the terminal; Infinity where the text goes elsewhere, so that nothing is cut. */
  columns: number;
  palette: Palette;
  isTerminal: boolean;
  /** Whether a list is printed as rows with tabs between the cells, and without a heading. */
  hasTabs?: boolean;
  /** Whether ids are whole. */
  isWide?: boolean;
}

/** For a pipe or a file: nothing is cut, and nothing has a colour. */
export const whole: Layout = {
  columns: Number.POSITIVE_INFINITY,
  palette: colorless,
  isTerminal: false,
};

export function layoutOf(
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number },
  env: NodeJS.ProcessEnv,
): Layout {
  const isTerminal = stdout.isTTY === true;
  return {
    // A terminal that does not know its size has none: nothing is cut there.
    columns: (isTerminal && stdout.columns) || whole.columns,
    palette: paletteFor(stdout, env),
    isTerminal,
  };
}

/** The state of a session whose last turn has failed. */
export const TURN_FAILED = 'ready, turn failed';

const states: Partial<Record<keyof Palette, readonly string[]>> = {
  good: ['ok', 'yes', 'ready', 'completed', 'active', 'idle', 'injected', 'consumed', 'accepted'],
  accent: ['running', 'working', 'injecting'],
  warn: ['warn', 'waiting_for_approval', 'pending', 'queued', 'deferred', 'retained', 'degraded'],
  bad: [
    'fail',
    'failed',
    TURN_FAILED,
    'no',
    'killed',
    'timed_out',
    'missing',
    'expired',
    'unreachable',
  ],
  faint: ['closed', 'cleaned', 'cancelled', 'interrupted', 'declined'],
};

/** The style of a state, a status or a result, the same wherever one is shown. */
export function stateStyle(palette: Palette, state: string): Style {
  const [style] = Object.entries(states).find(([, words]) => words.includes(state)) ?? [];
  return style === undefined ? (text) => text : (palette[style as 'good'] satisfies Style);
}
