import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findConfig } from '../../../src/core/config/load.ts';
import { tempDirectory } from '../../support/temp.ts';

/** Returns the section `screen` and the problems of a file. */
function read(toml: string) {
  using home = tempDirectory('config');
  const file = path.join(home.path, 'config.toml');
  fs.writeFileSync(file, toml);
  const { config, problems } = findConfig({ config: file }, {});
  return { screen: config?.screen, problems: problems.map((one) => one.replace(file, 'FILE')) };
}

test('A theme, and colours by name or as #rrggbb, are accepted.', () => {
  const { screen, problems } = read(
    '[screen]\ntheme = "light"\n[screen.colors]\ngood = "#0A5c36"\nbad = "redBright"\n',
  );
  expect(problems).toEqual([]);
  expect(screen).toMatchObject({
    theme: 'light',
    colors: { good: '#0A5c36', bad: 'redBright' },
  });
});

test.for([
  ['[screen]\ntheme = "lite"', /^screen\.theme: .*auto.*dark.*light.*none.* \(line 2 of FILE\)$/],
  [
    '[screen.colors]\ngood = "gren"',
    /^screen\.colors\.good: "gren" is not a colour: use "green", or #rrggbb \(line 2 of FILE\)$/,
  ],
  [
    '[screen.colors]\ngood = "#12345"',
    /^screen\.colors\.good: "#12345" is not a colour: use one of/,
  ],
  [
    '[screen.colors]\nwarning = "red"',
    /^screen\.colors\.warning: "warning" is not a role of a colour: use "warn" \(line 2 of FILE\)$/,
  ],
] as const)('A wrong theme or colour is refused with its line: %j.', ([toml, message]) => {
  expect(read(toml).problems).toEqual([expect.stringMatching(message)]);
});

test('Actions can have other keys, and two actions can swap their keys.', () => {
  const { screen, problems } = read(
    '[screen.keys]\nprompt = "n"\nnew_session = "i"\ncopy = "ctrl-y"\nsort = "space"\nmark = "s"\n',
  );
  // The pane searches with n, so that only actions of the list alone may have that key.
  expect(problems).toEqual([
    expect.stringMatching(/^screen\.keys\.prompt: "n" is a key of the pane/),
  ]);
  expect(screen).toBeUndefined();
  const swapped = read('[screen.keys]\nstop = "r"\nrestart = "x"\nsort = "space"\nmark = "s"\n');
  expect(swapped).toMatchObject({ problems: [], screen: { keys: { stop: 'r', restart: 'x' } } });
});

test.for([
  [
    'promt = "K"',
    /^screen\.keys\.promt: "promt" is not an action of the screen: use "prompt" \(line 2 of FILE\)$/,
  ],
  [
    'stop = "p"',
    /^screen\.keys\.stop: "p" is the key of pin: use another key, or give pin another key, too \(line 2 of FILE\)$/,
  ],
  [
    'stop = "j"',
    /^screen\.keys\.stop: "j" moves or leaves, and cannot be changed \(line 2 of FILE\)$/,
  ],
  [
    'stop = "ctrl+x"',
    /^screen\.keys\.stop: "ctrl\+x" is not a key: use one character, space, enter, tab, shift-tab, or ctrl-LETTER \(line 2 of FILE\)$/,
  ],
  ['stop = ""', /^screen\.keys\.stop: "" is not a key/],
] as const)('A wrong key is refused with its line and a correction: %s.', ([line, message]) => {
  expect(read(`[screen.keys]\n${line}\n`).problems).toEqual([expect.stringMatching(message)]);
});
