import http from 'node:http';
import { expect, test } from 'vitest';
import type { Approval } from '../../../src/api/approvals.ts';
import type { ApprovalLink } from '../../../src/api/hooks.ts';
import { Receiver } from '../../support/hooks/receiver.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { sharedHarness, type Harness, testHarness } from '../../support/sessions/harness.ts';
import fs from 'node:fs';
import path from 'node:path';
import { expectEventually } from '../../support/expect-eventually.ts';
import { send } from '../../support/http/request.ts';
import { testRuntime } from '../../support/runtime.ts';
import { testDirectory } from '../../support/temp.ts';

const PUBLIC = 'https://box.example';
const options = { config: { approvals: { link_base_url: PUBLIC } } };
const harness = sharedHarness(options);

function sharedLater(): Harness {
  // Requests with invalid links are answered more and more slowly within a minute.
  harness().clock.advance(61_000);
  return harness();
}

interface Page {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** A request as a browser behind a tunnel sends it: nothing of ours but the address. */
async function browse(
  harness: Harness,
  at: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Page> {
  const { promise, resolve, reject } = Promise.withResolvers<Page>();
  const { hostname, port } = new URL(harness.given.url);
  const form = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const request = http.request(
    {
      hostname,
      port,
      path: at,
      method,
      agent: false,
      headers: { host: 'box.example', ...form, ...headers },
    },
    (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    },
  );
  request.once('error', reject);
  request.end(body);
  return promise;
}

function press(
  harness: Harness,
  at: string,
  decision: string,
  headers: Record<string, string> = {},
) {
  return browse(harness, at, { method: 'POST', body: `decision=${decision}`, headers });
}

/** Lets an agent ask, and makes a link for that. */
async function asked(harness: Harness, request: object = { title: 'rm -rf build' }) {
  const { session, turn } = await harness.atWork();
  const answer = turn.ask(request);
  const approval = await harness.asked(session.id);
  return { session, turn, answer, approval };
}

async function linkTo(harness: Harness, { session_id, id }: Approval, body: object = {}) {
  return harness.post<ApprovalLink & { error: string; code?: string }>(
    `/v1/sessions/${session_id}/approvals/${id}/link`,
    body,
  );
}

/** The path of a new link. */
async function pathOfLink(harness: Harness, approval: Approval): Promise<string> {
  const { body } = await linkTo(harness, approval);
  expect(body.url.startsWith(`${PUBLIC}/answer/`)).toBe(true);
  return new URL(body.url).pathname;
}

/** An approval with the path of a link to it. */
async function linked() {
  const harness = sharedLater();
  const all = await asked(harness);
  return { harness, ...all, at: await pathOfLink(harness, all.approval) };
}

async function statusOf(harness: Harness, { session_id, id }: Approval): Promise<Approval> {
  return (await harness.get<Approval>(`/v1/sessions/${session_id}/approvals/${id}`)).body;
}

/** Returns the page of an invalid link, which is the same for all invalid links. */
async function invalid(harness: Harness): Promise<string> {
  return (await browse(harness, `/answer/${'x'.repeat(43)}`)).text;
}

test('The page of a link shows the request with two buttons, without scripts, framing or caching.', async () => {
  const harness = sharedLater();
  const { approval } = await asked(harness, {
    title: '<script>alert(1)</script> "x" \u202e',
    details: [{ type: 'command', command: 'echo <b>&amp;</b> \u202e rm', cwd: '/tmp' }],
  });
  const page = await browse(harness, await pathOfLink(harness, approval));
  expect(page.status).toBe(200);
  expect(page.text.match(/<button /g)).toHaveLength(2);
  expect(page.text).not.toMatch(/<script|<b>|src=|href=|\u202e/);
  expect(page.text).toContain('&#60;script&#62;');
  expect(page.text).toContain('&#60;U+202E&#62; rm');
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'") as string,
  });
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(page.headers['set-cookie']).toBe(undefined);
});

test('Opening, previewing or prefetching a page changes nothing.', async () => {
  const { harness, approval, at } = await linked();
  for (const headers of [{}, { 'sec-purpose': 'prefetch;prerender' }, { purpose: 'preview' }])
    for (const method of ['GET', 'HEAD'])
      expect((await browse(harness, `${at}?decision=accept`, { method, headers })).status).toBe(
        200,
      );
  expect((await statusOf(harness, approval)).status).toBe('pending');
});

test.for([
  ['accept', 'accepted', 'accept'],
  ['decline', 'declined', 'decline'],
] as const)(
  'The page answers with %s once, and its link is invalid afterwards.',
  async ([word, status, decision]) => {
    const harness = sharedLater();
    const { approval, answer } = await asked(harness);
    const [at, second] = [await pathOfLink(harness, approval), await pathOfLink(harness, approval)];
    const answered = await press(harness, at, word, { origin: PUBLIC });
    expect(answered.status).toBe(200);
    expect((await answer).decision).toBe(decision);
    const now = await statusOf(harness, approval);
    expect(now).toMatchObject({ status, scope: status === 'accepted' ? 'once' : null });
    expect(now.decided_by).toMatch(/^link_/);
    const none = await invalid(harness);
    for (const one of [at, second]) {
      for (const other of ['accept', 'decline'])
        expect(await press(harness, one, other)).toMatchObject({ status: 404, text: none });
      expect(await browse(harness, one)).toMatchObject({ status: 404, text: none });
    }
    expect(await statusOf(harness, approval)).toEqual(now);
  },
);

test('The page can only decline a request that it does not show completely.', async () => {
  const harness = sharedLater();
  const details = [{ type: 'command', command: `echo ${'x'.repeat(70_000)}; rm -rf /`, cwd: null }];
  const { approval } = await asked(harness, { title: 'a long command', details });
  const at = await pathOfLink(harness, approval);
  const { text } = await browse(harness, at);
  expect(text.match(/<button /g)).toHaveLength(1);
  expect(text).toContain('you cannot accept it here');
  expect((await press(harness, at, 'accept')).status).toBe(409);
  expect((await statusOf(harness, approval)).status).toBe('pending');
  expect((await press(harness, at, 'decline')).status).toBe(200);
});

test('The page accepts a request with missing arguments only with a typed word.', async () => {
  const harness = sharedLater();
  const request = { title: 'do it', lacksArguments: true };
  const [one, other] = [await asked(harness, request), await asked(harness, request)];
  const at = await pathOfLink(harness, one.approval);
  expect((await browse(harness, at)).text).toContain('does not say what this request would do');
  for (const word of ['accept', 'accept&confirm=', 'accept&confirm=no'])
    expect((await press(harness, at, word)).status).toBe(409);
  expect(await statusOf(harness, one.approval)).toMatchObject({
    status: 'pending',
    arguments_missing: true,
  });
  expect((await press(harness, at, 'accept&confirm=yes')).status).toBe(200);
  expect((await statusOf(harness, one.approval)).status).toBe('accepted');
  const declined = await press(harness, await pathOfLink(harness, other.approval), 'decline');
  expect(declined.status).toBe(200);
});

test('The page answers once for many simultaneous clicks.', async () => {
  const { harness, at } = await linked();
  const words = ['accept', 'decline', 'accept', 'decline', 'accept', 'decline'];
  const pages = await Promise.all(words.map((word) => press(harness, at, word)));
  expect(pages.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('A link is invalid once its approval is resolved in another way.', async () => {
  const { harness, approval, at } = await linked();
  await harness.decide(approval, 'decline');
  expect((await browse(harness, at)).status).toBe(404);
  expect((await press(harness, at, 'accept')).status).toBe(404);
  expect((await statusOf(harness, approval)).status).toBe('declined');
});

test('A link answers only its own approval, whatever the form contains.', async () => {
  const harness = sharedLater();
  const [one, other] = [await asked(harness), await asked(harness)];
  const at = await pathOfLink(harness, one.approval);
  const forged = `decision=accept&approval_id=${other.approval.id}&session_id=${other.approval.session_id}`;
  await browse(harness, `${at}?approval_id=${other.approval.id}`, {
    method: 'POST',
    body: forged,
  });
  expect((await statusOf(harness, one.approval)).status).toBe('accepted');
  expect((await statusOf(harness, other.approval)).status).toBe('pending');
});

test.for([
  'decision=',
  'decision=accepted',
  'decision=accept&decision=decline',
  'decision%5B%5D=accept',
  '',
  '{"decision":"accept"}',
])('The page refuses another form than its own: %s.', async (body) => {
  const { harness, approval, at } = await linked();
  expect((await browse(harness, at, { method: 'POST', body })).status).toBe(404);
  expect((await statusOf(harness, approval)).status).toBe('pending');
  const large = await browse(harness, at, {
    method: 'POST',
    body: `decision=accept&x=${'x'.repeat(5000)}`,
  });
  expect(large.status).toBe(413);
  const json = { 'content-type': 'application/json' };
  const sent = await browse(harness, at, {
    method: 'POST',
    body: '{"decision":"accept"}',
    headers: json,
  });
  expect(sent.status).toBe(415);
  expect((await statusOf(harness, approval)).status).toBe('pending');
});

test.for(['https://evil.example', 'null', 'http://box.example.evil.example'])(
  'A form from the page %s is refused.',
  async (origin) => {
    const { harness, approval, at } = await linked();
    expect((await press(harness, at, 'accept', { origin })).status).toBe(403);
    expect((await statusOf(harness, approval)).status).toBe('pending');
  },
);

test('The public host of links serves only the page, and no other host serves it.', async () => {
  const { harness, at } = await linked();
  const authorization = `Bearer ${harness.given.token}`;
  for (const other of [
    '/health',
    '/openapi.yaml',
    '/v1/sessions',
    '/metrics',
    '/answer',
    `${at}/x`,
    '/',
  ])
    expect((await browse(harness, other, { headers: { authorization } })).status).toBe(403);
  for (const host of ['evil.example', 'box.example.evil.example'])
    expect((await browse(harness, at, { headers: { host } })).status).toBe(403);
  for (const host of ['box.example', 'box.example:443', 'localhost', '127.0.0.1:1'])
    expect((await browse(harness, at, { headers: { host } })).status).toBe(200);
});

test('A form from the public host that the tunnel forwards is accepted.', async () => {
  const { harness, at } = await linked();
  expect(
    (await press(harness, at, 'decline', { host: '127.0.0.1:9', origin: PUBLIC })).status,
  ).toBe(200);
});

test('The secret of a link is not a token, and no row, file or event has it.', async () => {
  const harness = sharedLater();
  const { approval } = await asked(harness);
  const { body } = await linkTo(harness, approval);
  const secret = body.url.split('/').at(-1) ?? '';
  const headers = { host: 'localhost', authorization: `Bearer ${secret}` };
  expect((await browse(harness, '/v1/sessions', { headers })).status).toBe(401);
  await press(harness, `/answer/${secret}`, 'accept');
  await harness.until(({ kind }) => kind === 'approval.resolved');
  expect(JSON.stringify(await harness.events())).not.toContain(secret);
  const files = fs.readdirSync(harness.given.directory, { recursive: true, withFileTypes: true });
  for (const file of files.filter((one) => one.isFile()))
    expect(fs.readFileSync(path.join(file.parentPath, file.name), 'latin1')).not.toContain(secret);
});

test('The secret of a link is not in the log, however its address is spelled.', async () => {
  const { url, logLines } = await testRuntime();
  const secret = 's'.repeat(43);
  const places = [`/answer/${secret}`, `/answer/${secret}/`, `/answer/${secret}/x`];
  places.push(`//answer/${secret}`, `/Answer/${secret}`, `/answer/${secret}?${secret}`);
  places.push(`/answer%2f${secret}`, `/%61nswer%5C${secret}`, `/answer%252F${secret}%`);
  for (const at of places)
    for (const method of ['GET', 'PUT', 'OPTIONS']) await send(url, { method, path: at });
  await expectEventually(() => logLines().filter(({ msg }) => msg === 'request').length).toBe(
    places.length * 3,
  );
  expect(JSON.stringify(logLines())).not.toContain(secret);
});

test('A link expires.', async () => {
  const clock = new ManualClock();
  const harness = await testHarness({ ...options, clock });
  const { approval } = await asked(harness);
  const { body } = await linkTo(harness, approval, { expires_in_ms: 60_000 });
  const at = new URL(body.url).pathname;
  clock.advance(59_000);
  expect((await browse(harness, at)).status).toBe(200);
  clock.advance(2000);
  expect((await browse(harness, at)).status).toBe(404);
  expect((await press(harness, at, 'accept')).status).toBe(404);
  expect((await statusOf(harness, approval)).status).toBe('pending');
});

test('Only a token that may decide can create a link, and only if two buttons can answer it.', async () => {
  const harness = sharedLater();
  const { approval, session } = await asked(harness);
  const { body: read } = await harness.post<{ secret: string }>('/v1/tokens', {
    name: 'r',
    scope: 'read',
  });
  const at = `/v1/sessions/${approval.session_id}/approvals/${approval.id}/link`;
  for (const token of [read.secret, harness.tokenOf(session)]) {
    const headers = {
      host: 'localhost',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    };
    expect((await browse(harness, at, { method: 'POST', headers, body: '{}' })).status).toBe(403);
  }
  const other = await harness.open();
  const elsewhere = { ...approval, session_id: other.id };
  expect((await linkTo(harness, elsewhere)).status).toBe(404);
  await harness.decide(approval, 'accept');
  expect(await linkTo(harness, approval)).toMatchObject({
    status: 409,
    body: { code: 'approval_resolved' },
  });
});

test('A hook with links gets a link with each approval, which answers it.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('links');
  const secret_file = path.join(own, 'secret');
  fs.writeFileSync(secret_file, 'a secret of a test, long enough', { mode: 0o600 });
  const clock = new ManualClock();
  clock.runFree();
  const hook = {
    name: 'phone',
    kinds: ['approval.*'],
    url: receiver.url,
    secret_file,
    link: true,
  };
  const config = { ...options.config, hooks: [hook] };
  const harness = await testHarness({ config, clock });
  const { approval, answer } = await asked(harness);
  await receiver.until(1);
  const { answer_url = '', ...event } = receiver.got[0]?.event ?? { kind: '' };
  expect(event.kind).toBe('approval.requested');
  expect((await press(harness, new URL(answer_url).pathname, 'accept')).status).toBe(200);
  expect((await answer).decision).toBe('accept');
  expect((await statusOf(harness, approval)).status).toBe('accepted');
  await receiver.until(2);
  expect(receiver.got[1]?.event).not.toHaveProperty('answer_url');
});

/** Prints the address of the link without its beginning, and no line feed. */
const print = String.raw`sed 's,.*/answer/,no way to ,; s,".*,,' | tr -d '\n'`;

test.for([
  { how: 'alone', command: print, printed: 'no way to …' },
  {
    how: 'before a long text that leaves no room for all of it',
    command: String.raw`${print}; head -c 1990 /dev/zero | tr '\0' x`,
    printed: `o way to …${'x'.repeat(289)}…`,
  },
])('A hook may print the address of a link $how, and nobody receives that.', async (printing) => {
  const clock = new ManualClock();
  clock.runFree();
  const command = `{ ${printing.command}; } >&2; exit 1`;
  const hook = { name: 'phone', kinds: ['approval.*'], command, link: true };
  const harness = await testHarness({ config: { ...options.config, hooks: [hook] }, clock });
  await asked(harness);
  await expectEventually(async () => {
    const { body: hooks } = await harness.get<{ failure: { error: string } }[]>('/v1/hooks');
    return hooks[0]?.failure?.error;
  }).toBe(`exit code 1: ${printing.printed}`);
});
