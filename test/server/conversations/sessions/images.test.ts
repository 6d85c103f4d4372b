import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Turn } from '../../../../src/api/sessions.ts';
import type { FailpointName } from '../../../../src/core/lib/failpoint.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { Fifo } from '../../../support/sessions/fifo.ts';
import { withTimeout } from '../../../support/sessions/with-timeout.ts';
import {
  endOf,
  withHarness,
  sharedHarness,
  afterCrash,
  testSession,
} from '../../../support/sessions/harness.ts';
import { atLength } from '../../../support/at-length.ts';
import { scaled } from '../../../support/patience.ts';
import type { StoredImage } from '../../../../src/api/input.ts';

const MIB = 1024 * 1024;
const signatures = {
  png: Buffer.from('89504e470d0a1a0a', 'hex'),
  jpeg: Buffer.from('ffd8ffe0', 'hex'),
  gif: Buffer.from('GIF89a'),
  webp: Buffer.from('RIFF\0\0\0\0WEBP'),
};

/** Bytes that begin as a file of that kind; `mark` makes them differ. */
function image(kind: keyof typeof signatures, size = 100, mark = 'x'): Buffer {
  return Buffer.concat([signatures[kind], Buffer.alloc(size, mark)]).subarray(0, size);
}

const inline = (bytes: Buffer, more: object = {}) => ({
  type: 'image',
  data: bytes.toString('base64'),
  ...more,
});
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const agentOptions = { capabilities: { images: true } };

describe('an image of a turn', () => {
  const on = sharedHarness({ agents: agentOptions });
  let files: ReturnType<typeof tempDirectory>;
  beforeAll(() => {
    files = tempDirectory('images');
  });
  afterAll(() => files[Symbol.dispose]());

  const fileWith = (name: string, bytes: Buffer | string) => {
    const file = path.join(files.path, name);
    fs.writeFileSync(file, bytes);
    return file;
  };
  /** Sends images; answers what its agent was given. */
  const give = async (...images: object[]) => {
    const session = await on().open();
    const reply = await on().send(session, { input: images });
    if (reply.status !== 200) return { reply, session, turn: undefined };
    const turn = await on().provider.nextTurn();
    await on().complete(turn);
    return {
      reply,
      session,
      turn: await on().turn(session.id, reply.body.turn_id),
      given: turn.input,
    };
  };
  const expectRefused = async (...images: object[]) => {
    const { reply, session } = await give(...images);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
    expect((await on().session(session.id)).last_turn_id).toBeNull();
    return reply.body.error;
  };

  it('An image by path is copied, so that later changes of the file do not matter.', async () => {
    const bytes = image('png', 5000, 'by path');
    const file = fileWith('shot.png', bytes);
    const { turn, given } = await give({ type: 'image', path: file });
    fs.rmSync(file);
    const kept = path.join(on().directory, 'blobs', sha256(bytes));
    const stored = {
      type: 'image',
      path: kept,
      media_type: 'image/png',
      bytes: 5000,
      sha256: sha256(bytes),
    };
    expect(turn?.input).toEqual([stored]);
    expect(given).toEqual([stored]);
    expect(fs.readFileSync(kept)).toEqual(bytes);
  });

  it('Only the owner can read the copy of an image.', async () => {
    const { turn } = await give(inline(image('png', 64, 'private')));
    const [stored] = (turn?.input ?? []) as StoredImage[];
    const kept = stored?.path ?? '';
    expect((fs.statSync(kept).mode & 0o777).toString(8)).toBe('600');
    expect((fs.statSync(path.dirname(kept)).mode & 0o777).toString(8)).toBe('700');
    expect(fs.readdirSync(path.dirname(kept)).every((name) => /^[0-9a-f]{64}$/.test(name))).toBe(
      true,
    );
  });

  it.each(Object.keys(signatures) as (keyof typeof signatures)[])(
    'An image may be %s, recognized by its bytes.',
    async (kind) => {
      const bytes = image(kind);
      const { turn } = await give(inline(bytes), inline(bytes, { media_type: `image/${kind}` }));
      expect(turn?.input.map((item) => item.media_type)).toEqual(Array(2).fill(`image/${kind}`));
    },
  );

  it('The data of an image is in no record and no event, and not in the input of the agent.', async () => {
    const bytes = image('jpeg', 3000, 'secret pixels');
    const { session, turn, given } = await give(
      { type: 'text', text: 'look' },
      inline(bytes, { media_type: 'image/jpeg' }),
    );
    const data = bytes.toString('base64');
    const everything = JSON.stringify([turn, given, await on().events(session.id)]);
    expect(everything).not.toContain(data.slice(0, 200));
    expect(everything).not.toContain('"data"');
    const events = await on().events(session.id);
    const accepted = events.find(({ kind }) => kind === 'turn.accepted')?.payload.turn as Turn;
    expect(accepted.input).toEqual([
      { type: 'text', text: 'look' },
      expect.objectContaining({ type: 'image', sha256: sha256(bytes), bytes: 3000 }),
    ]);
  });

  it('An image that comes twice is stored once.', async () => {
    const bytes = image('gif', 200, 'twice');
    const { turn } = await give(inline(bytes), {
      type: 'image',
      path: fileWith('same.gif', bytes),
    });
    expect(turn?.input).toHaveLength(2);
    expect(turn?.input[0]).toEqual(turn?.input[1]);
  });

  it('A turn may have at most 8 images.', async () => {
    const eight = Array.from({ length: 8 }, (_, at) => inline(image('png', 100, `n${at}`)));
    expect((await give(...eight)).turn?.input).toHaveLength(8);
    expect(await expectRefused(...eight, inline(image('png', 100, 'n9')))).toContain(
      'the maximum is 8 images',
    );
  });

  it(
    'An image may have at most 5 MiB, by path and inline.',
    { timeout: scaled(30_000) },
    async () => {
      const most = image('png', 5 * MIB);
      const over = image('png', 5 * MIB + 1);
      const all = await give({ type: 'image', path: fileWith('most.png', most) });
      expect(all.turn?.input).toMatchObject([{ bytes: 5 * MIB }]);
      expect((await give(inline(most))).turn?.input).toMatchObject([{ bytes: 5 * MIB }]);
      expect(await expectRefused({ type: 'image', path: fileWith('over.png', over) })).toContain(
        '5242880',
      );
      expect(await expectRefused(inline(over))).toContain('5242880');
    },
  );

  it('A body over 8 MiB is 413.', async () => {
    const session = await on().open();
    const body = { input: [inline(image('png', 4 * MIB)), inline(image('png', 4 * MIB))] };
    const reply = await on().send(session, body);
    expect([reply.status, reply.body.code]).toEqual([413, 'payload_too_large']);
    expect(reply.body.error).toEqual(expect.any(String));
  });

  it('An image of another format is refused.', async () => {
    expect(await expectRefused(inline(Buffer.from('<svg/>')))).toMatch(/PNG, JPEG, GIF or WebP/);
    const text = fileWith('readme.png', 'not at all');
    expect(await expectRefused({ type: 'image', path: text })).toContain(text);
    expect(await expectRefused(inline(Buffer.from('RIFF\0\0\0\0WAVE')))).toMatch(/PNG/);
    expect(await expectRefused(inline(Buffer.alloc(0)))).toBe(
      'body.input.0.data: has to have at least 1 character',
    );
  });

  it('An image with the wrong media type is refused.', async () => {
    const error = await expectRefused(inline(image('png'), { media_type: 'image/jpeg' }));
    expect(error).toMatch(/image\/jpeg.*image\/png/);
  });

  it('An image is refused by name if its path is missing or not a file.', async () => {
    const missing = path.join(files.path, 'nowhere.png');
    expect(await expectRefused({ type: 'image', path: missing })).toContain(
      `cannot read the image ${missing}: the file does not exist`,
    );
    expect(await expectRefused({ type: 'image', path: files.path })).toContain(files.path);
    await expectRefused({ type: 'image', path: `${missing}\0.png` });
  });

  it('An image whose path is a pipe is refused, and nobody waits for it.', async () => {
    using pipe = new Fifo(path.join(files.path, 'pipe.png'));
    const session = await on().open();
    const answer = on().send(session, { input: [{ type: 'image', path: pipe.path }] });
    try {
      expect((await withTimeout(answer, 'the refusal', 2000)).status).toBe(400);
    } finally {
      pipe[Symbol.dispose]();
      await answer;
    }
  });

  it('A relative path of an image is resolved against the directory of its session.', async () => {
    const bytes = image('gif', 300, 'relative');
    fileWith('near.gif', bytes);
    const session = await on().open({ cwd: files.path });
    const reply = await on().send(session, { input: [{ type: 'image', path: 'near.gif' }] });
    expect(reply.status).toBe(200);
    (await on().provider.nextTurn()).end(completed);
    await on().until(endOf(reply.body.turn_id));
    const turn = await on().turn(session.id, reply.body.turn_id);
    expect(turn.input).toMatchObject([{ sha256: sha256(bytes) }]);
    const missing = await on().send(session, { input: [{ type: 'image', path: 'far.gif' }] });
    expect(missing.body.error).toContain(path.join(files.path, 'far.gif'));
  });

  it('An image may be behind a link, and the target of the link is checked.', async () => {
    const target = fileWith('target.gif', image('gif', 300, 'linked'));
    const link = path.join(files.path, 'link.gif');
    fs.symlinkSync(target, link);
    expect((await give({ type: 'image', path: link })).reply.status).toBe(200);
    fs.rmSync(link);
    fs.symlinkSync('/dev/zero', link);
    expect(await expectRefused({ type: 'image', path: link })).toContain('not a regular file');
  });

  it(
    'An image whose path turns into a pipe while it is read blocks nothing else.',
    { timeout: scaled(60_000) },
    async () => {
      const swapped = path.join(files.path, 'swapped.gif');
      const pipe = path.join(files.path, 'pipe.gif');
      const regular = fileWith('regular.gif', image('gif', 300, 'swapped'));
      execFileSync('mkfifo', [pipe]);
      const session = await on().open();
      let swapping = true;
      const swaps = (async () => {
        for (let at = 0; swapping; at++) {
          await fsPromises.symlink(at % 2 === 0 ? pipe : regular, `${swapped}.next`);
          await fsPromises.rename(`${swapped}.next`, swapped);
        }
      })();
      const replies = Array.from({ length: atLength(60, 200, 200) }, () =>
        on().send(session, {
          expected_turn_id: 'turn_none',
          input: [{ type: 'image', path: swapped }],
        }),
      );
      // Each is answered, one way or the other: nobody waits at the pipe.
      const statuses = (await Promise.all(replies)).map(({ status }) => status);
      swapping = false;
      await swaps;
      expect(statuses.filter((status) => status !== 400 && status !== 409)).toEqual([]);
    },
  );

  it('An image that is empty or not base64 is refused.', async () => {
    await expectRefused({ type: 'image', data: '***' });
    await expectRefused({ type: 'image' });
    await expectRefused({ type: 'image', path: '' });
    await expectRefused({ type: 'image', path: 'a.png', data: 'eA==' });
  });
});

it('The copy of an image and its name are synced before the row that names it.', async () => {
  const order: string[] = [];
  let watching = false;
  const note = (what: string) => void (watching && order.push(what));
  const failpoint = (name: FailpointName) => void (name === 'commit.before' && note('commit'));
  const original = {
    writeFile: fsPromises.writeFile.bind(fsPromises),
    rename: fsPromises.rename.bind(fsPromises),
    open: fsPromises.open.bind(fsPromises),
  };
  const spies = [
    vi.spyOn(fsPromises, 'writeFile').mockImplementation(async (file, data, options) => {
      await original.writeFile(file, data, options);
      const { flush } = options as { flush?: boolean };
      note(flush ? 'file synced' : 'file written');
    }),
    vi.spyOn(fsPromises, 'rename').mockImplementation(async (from, to) => {
      await original.rename(from, to);
      note('renamed');
    }),
    vi.spyOn(fsPromises, 'open').mockImplementation(async (...args) => {
      const handle = await original.open(...args);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        note('directory synced');
      };
      return handle;
    }),
  ];
  try {
    await withHarness(
      async (harness) => {
        const session = await harness.open();
        watching = true;
        expect((await harness.send(session, { input: [inline(image('png'))] })).status).toBe(200);
        watching = false;
        expect(order.slice(0, 4)).toEqual(['file synced', 'renamed', 'directory synced', 'commit']);
      },
      { failpoint, agents: agentOptions },
    );
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});

it('A turn that starts after a crash gets the copy of its image.', async () => {
  const bytes = image('webp', 700);
  const [harness] = await afterCrash(
    async (harness) => {
      const session = await harness.open();
      await harness.send(session, { input: [inline(bytes)] });
    },
    {
      before: { agents: { ...agentOptions, opening: () => new Promise(() => undefined) } },
      after: { agents: agentOptions },
    },
  );
  const { input } = await harness.provider.nextTurn();
  expect(input).toMatchObject([{ type: 'image', sha256: sha256(bytes) }]);
});

it('An image for a provider without images is 400, and nothing is stored or copied.', async () => {
  const { harness, session } = await testSession();
  const before = await harness.events();
  for (const input of [inline(image('png')), [inline(image('png'))]]) {
    const { status, body } = await harness.send(session, { input });
    expect([status, body.code]).toEqual([400, 'invalid']);
    expect(body.error).toContain('images');
  }
  expect(await harness.events()).toEqual(before);
  expect(fs.existsSync(path.join(harness.directory, 'blobs'))).toBe(false);
});

it('A copy of an image that a crash cut off is removed with the next copy.', async () => {
  const { harness, session } = await testSession({ agents: agentOptions });
  const blobs = path.join(harness.directory, 'blobs');
  fs.mkdirSync(path.join(blobs, '.draft-killed'), { recursive: true });
  fs.writeFileSync(path.join(blobs, '.draft-killed', 'image'), 'cut off');
  const bytes = image('png');
  expect((await harness.send(session, { input: [inline(bytes)] })).status).toBe(200);
  expect(fs.readdirSync(blobs)).toEqual([sha256(bytes)]);
});
