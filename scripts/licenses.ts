// The licences of the packages that a build has put into its bundles.
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { License } from '../src/frontends/cli/licenses.ts';

// A text of a licence, or what has to go with it.
const isLicense = (name: string) => /^(licen[cs]e|copying|notice)/i.test(name);

// These packages name their licence, and come without its text.
const withoutText: Readonly<Record<string, string>> = {
  'abstract-logging': 'Copyright (c) James Sumners',
  'sugar-high': 'Copyright (c) 2024 Nikhil S',
  'yoga-layout': 'Copyright (c) Meta Platforms, Inc. and affiliates.',
};

const mit = (copyright: string) => `MIT License

${copyright}

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`;

/** The fields that this module reads from an esbuild metafile. */
interface Metafile {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}

/** The files of which bytes are in the outputs of a build, from its metafile. */
export function bundledFiles({ outputs }: Metafile): string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([name, { bytesInOutput }]) => (bytesInOutput > 0 ? name : [])),
  );
}

/** The licence of each package that one of these files below `root` is of, by name and version. */
export function licensesOf(files: readonly string[], root: string): License[] {
  const places = new Set(files.flatMap((file) => packageOf(file) ?? []));
  const all = [...places].map((place) => licenseIn(join(root, place)));
  const named = new Map(all.map((one) => [`${one.name} ${one.version}`, one]));
  return [...named.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The licence of the package in a directory, with the licences of code of others in it that it lacks (licenses/). */
export function licenseIn(directory: string): License {
  const manifest = fs.readFileSync(join(directory, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(manifest) as Omit<License, 'text'>;
  const files = fs.readdirSync(directory).filter(isLicense).toSorted();
  const text = files.map((file) => fs.readFileSync(join(directory, file), 'utf8').trim());
  if (text.length === 0) text.push(textFor(name, license));
  const contained = join(import.meta.dirname, 'licenses', `${name}.txt`);
  if (fs.existsSync(contained)) text.push(fs.readFileSync(contained, 'utf8').trim());
  return { name, version, license, text: text.join('\n\n').replaceAll('\r', '') };
}

/** `node_modules/a/node_modules/b` of `node_modules/a/node_modules/b/dist/c.js`. */
function packageOf(file: string): string | undefined {
  return /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}

function textFor(name: string, license: string): string {
  const copyright = withoutText[name];
  if (license === 'MIT' && copyright) return mit(copyright);
  throw new Error(
    `${name} (${license}) has no licence file: add the licence text to scripts/licenses.ts`,
  );
}
