import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { referencePage } from '../../scripts/openapi/reference-page.ts';
import { serverErrorCodes } from '../../src/api/errors.ts';
import { eventKinds } from '../../src/api/events.ts';
import { toolNames } from '../../src/api/tool-names.ts';
import { version } from '../../src/core/lib/self.ts';
import { table } from '../support/http/request.ts';

const page = readFileSync(new URL('../../docs/reference.md', import.meta.url), 'utf8');
const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);

test('The page is current: run make openapi after a change to src/api.', () => {
  expect(page).toBe(referencePage(version));
});

test('Every endpoint and every tool has one section.', () => {
  const requests = table.map(({ request }) => request);
  expect(headings).toEqual(expect.arrayContaining([...requests, ...toolNames]));
  expect(new Set(headings).size).toBe(headings.length);
});

test('The section of an endpoint has its fields, parameters and errors.', () => {
  for (const { request, endpoint } of table) {
    const [, section = ''] = page.split(`### ${request}\n`);
    const [own = ''] = section.split(/^##+ /m);
    const { shape = {} } = (endpoint.body ?? {}) as { shape?: object };
    for (const name of [endpoint.params, endpoint.query, shape].flatMap(Object.keys))
      expect([request, own]).toEqual([request, expect.stringContaining(`| \`${name}\``)]);
    for (const code of endpoint.errors)
      expect([request, own]).toEqual([request, expect.stringContaining(`\`${code}\` (`)]);
  }
});

test('The page lists every error code and every kind of event.', () => {
  for (const code of serverErrorCodes) expect(page).toContain(`\n| \`${code}\` | `);
  for (const kind of eventKinds) expect(page).toContain(`[${kind}](events.md#`);
});
