import { expect, test } from 'vitest';
import { bundledFiles, licensesOf } from '../../scripts/licenses.ts';
import { licensesIn, licensesText } from '../../src/frontends/cli/licenses.ts';
import { LICENSES_FILE, readAsset } from '../../src/core/lib/self.ts';

const text = new TextDecoder().decode(readAsset(LICENSES_FILE));
const licenses = licensesIn(text);

test('THIRD-PARTY-LICENSES lists the bundled packages, and no packages for builds or tests.', () => {
  const names = licenses.map(({ name }) => name);
  const bundled = ['fastify', 'ink', 'react', 'sql.js', 'yoga-layout', 'zod', '@nats-io/nkeys'];
  expect(names).toEqual(expect.arrayContaining(bundled));
  for (const tool of ['esbuild', 'typescript', 'vitest', '@yao-pkg/pkg', 'oxlint'])
    expect(names).not.toContain(tool);
});

test('THIRD-PARTY-LICENSES has the version, the licence and the text with the copyright of each package.', () => {
  for (const { name, version, license, text } of licenses) {
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
    expect([name, license]).toEqual([
      name,
      expect.stringMatching(/^(MIT|ISC|Apache-2\.0|BSD-3-Clause|Unlicense)$/),
    ]);
    expect([name, text]).toEqual([name, expect.stringMatching(/copyright|unencumbered software/i)]);
  }
});

test('THIRD-PARTY-LICENSES has the licences of jq and its regular expressions, which jq-wasm contains.', () => {
  const { text = '' } = licenses.find(({ name }) => name === 'jq-wasm') ?? {};
  expect(text).toContain('Stephen Dolan');
  expect(text).toContain('K.Kosako');
});

test('THIRD-PARTY-LICENSES can be read into packages and written again without a change.', () => {
  expect(licenses.length).toBeGreaterThan(50);
  expect(licensesText(licenses)).toBe(text);
});

test('The list of licences leaves out a package that has no byte in a bundle.', () => {
  const inputs = {
    'node_modules/zod/index.js': { bytesInOutput: 10 },
    'node_modules/vitest/index.js': { bytesInOutput: 0 },
    'src/main.ts': { bytesInOutput: 7 },
  };
  const files = bundledFiles({ outputs: { 'a.cjs': { inputs } } });
  expect(licensesOf(files, process.cwd()).map(({ name }) => name)).toEqual(['zod']);
});
