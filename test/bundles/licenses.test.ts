import { describe, expect, test } from 'vitest';
import { bundledFiles, licensesOf } from '../../scripts/licenses.ts';
import { licensesIn, licensesText } from '../../src/frontends/cli/licenses.ts';
import { LICENSES_FILE, readAsset } from '../../src/core/lib/self.ts';

const text = new TextDecoder().decode(readAsset(LICENSES_FILE));
const licenses = licensesIn(text);

describe('THIRD-PARTY-LICENSES', () => {
  test('names what is bundled, and nothing that only builds or tests it.', () => {
    const names = licenses.map(({ name }) => name);
    const bundled = ['fastify', 'ink', 'react', 'sql.js', 'yoga-layout', 'zod', '@nats-io/nkeys'];
    expect(names).toEqual(expect.arrayContaining(bundled));
    for (const tool of ['esbuild', 'typescript', 'vitest', '@yao-pkg/pkg', 'oxlint'])
      expect(names).not.toContain(tool);
  });

  test('has the version, the licence and its text, with who has the copyright, of each.', () => {
    for (const { name, version, license, text } of licenses) {
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
      expect([name, license]).toEqual([
        name,
        expect.stringMatching(/^(MIT|ISC|Apache-2\.0|BSD-3-Clause|Unlicense)$/),
      ]);
      expect([name, text]).toEqual([
        name,
        expect.stringMatching(/copyright|unencumbered software/i),
      ]);
    }
  });

  test('has the licences of what jq-wasm contains: jq and its regular expressions.', () => {
    const { text = '' } = licenses.find(({ name }) => name === 'jq-wasm') ?? {};
    expect(text).toContain('Stephen Dolan');
    expect(text).toContain('K.Kosako');
  });

  test('is divided into the licences that it was made of.', () => {
    expect(licenses.length).toBeGreaterThan(50);
    expect(licensesText(licenses)).toBe(text);
  });

  test('leaves out a file of which no byte is in a bundle.', () => {
    const inputs = {
      'node_modules/zod/index.js': { bytesInOutput: 10 },
      'node_modules/vitest/index.js': { bytesInOutput: 0 },
      'src/main.ts': { bytesInOutput: 7 },
    };
    const files = bundledFiles({ outputs: { 'a.cjs': { inputs } } });
    expect(licensesOf(files, process.cwd()).map(({ name }) => name)).toEqual(['zod']);
  });
});
