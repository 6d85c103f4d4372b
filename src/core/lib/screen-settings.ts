/** Settings of the screen and of colours, `[screen]` and `[client]` of the configuration, as their readers see them. */
export interface ScreenSettings {
  theme: Theme;
  /** Colours by roles. */
  colors: Readonly<Record<string, string>>;
  /** Keys by the names of actions. */
  keys: Readonly<Record<string, string>>;
  mouse: boolean;
  diff: DiffLayout;
}

export const diffLayouts = ['auto', 'unified', 'split'] as const;
export type DiffLayout = (typeof diffLayouts)[number];

export const themes = ['auto', 'dark', 'light', 'none'] as const;
export type Theme = (typeof themes)[number];

/** The meanings of colours: the names of the palette of `frontends/terminal`. */
export const colorRoles = [
  'good',
  'bad',
  'warn',
  'faint',
  'strong',
  'accent',
  'emphasis',
  'found',
  'added',
  'removed',
  'code',
  'keyword',
  'string',
  'comment',
  'title',
] as const;
export type ColorRole = (typeof colorRoles)[number];

const colorful = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

/** The 16 colours that every terminal has. */
export const colorNames: readonly string[] = [
  ...colorful,
  'gray',
  ...colorful.map((name) => `${name}Bright`),
];

/** The settings where nothing is configured. */
export const defaultScreen: ScreenSettings = {
  theme: 'auto',
  colors: {},
  keys: {},
  mouse: false,
  diff: 'auto',
};
