import { expect, test } from 'vitest';
import { HOST_PATTERN } from '../../../src/api/host-pattern.ts';
import { hostsOfBaseUrls, normalHost, reachOf } from '../../../src/core/lib/host-lists.ts';

const rows: [entry: string, host: string, port: number, reach: 'public' | 'any' | null][] = [
  ['example.com', 'example.com', 443, 'public'],
  ['example.com', 'example.com', 80, 'public'],
  ['example.com', 'example.com', 22, null],
  ['example.com', 'www.example.com', 443, null],
  ['example.com', 'notexample.com', 443, null],
  ['*.example.com', 'www.example.com', 443, 'public'],
  ['*.example.com', 'a.b.example.com', 443, 'public'],
  ['*.example.com', 'example.com', 443, null],
  ['*.example.com', 'notexample.com', 443, null],
  ['example.com:8080', 'example.com', 8080, 'any'],
  ['example.com:8080', 'example.com', 443, null],
  ['*.example.com:8080', 'www.example.com', 8080, 'public'],
  ['*', 'anything.test', 443, 'public'],
  ['*', 'anything.test', 22, null],
  ['EXAMPLE.com', 'example.com', 443, 'public'],
  ['[::1]:8080', '::1', 8080, 'any'],
  ['[2001:DB8::1]', '2001:db8::1', 443, 'public'],
  ['[::1]:8080', '::2', 8080, null],
];
test.for(rows)('The entry %s allows for %s:%d: %s.', ([entry, host, port, reach]) => {
  expect(entry).toMatch(HOST_PATTERN);
  expect(reachOf(['other.test', entry], host, port)).toBe(reach);
});

test('An entry with a port wins over one without, in any order.', () => {
  for (const list of [
    ['example.com', 'example.com:443'],
    ['example.com:443', 'example.com'],
  ])
    expect(reachOf(list, 'example.com', 443)).toBe('any');
});

test('The pattern of an entry refuses schemes, paths, ports out of range and empty names.', () => {
  for (const text of [
    '',
    '*.',
    'https://example.com',
    'example.com/',
    'a:0',
    '**',
    'a b',
    '::1',
    '[a]',
    '[::1]:0',
  ])
    expect(text).not.toMatch(HOST_PATTERN);
});

test('Hosts are compared without case, brackets and a dot at the end.', () => {
  expect(normalHost('Example.COM.')).toBe('example.com');
  expect(normalHost('[::1]')).toBe('::1');
});

test('Base URLs of an environment are hosts with a port.', () => {
  expect(
    hostsOfBaseUrls({
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:4000/v1',
      OPENAI_BASE_URL: 'https://models.example.com',
      LOCAL_BASE_URL: 'http://[::1]:8080',
      OTHER_BASE_URL: 'file:///etc/passwd',
      WRONG_BASE_URL: 'nothing',
      HOME: 'https://home.example.com',
    }),
  ).toEqual(['127.0.0.1:4000', 'models.example.com:443', '[::1]:8080']);
});
