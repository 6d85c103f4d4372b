// Loaded into every process of a test run that serves HTTP: vitest's workers, and servers by their NODE_OPTIONS.
// Each answer is written down as it goes out; the end of the run checks them all, once, in one process. To load and
// compile there what describes an answer would cost each of the hundreds of servers of a run as much as its own start.
import { hash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { type Answer, ANSWERS, answerDirectory } from './answer-files.ts';

/** The length of the longest body that is recorded. */
const MAX_BYTES = 1024 * 1024;
/** The recorded part of each run of the letter x. Tests use such runs to make texts long. */
const MAX_FILLING = 20_000;
/** Finds a run in linear time. An expression with the limit itself takes quadratic time for the shorter runs. */
const FILLING = /x{64,}/g;
/** Recorded frames are remembered, because every subscriber of a stream receives the same frames. */
const MAX_REMEMBERED = 10_000;

/** An answer on its way. */
interface Going {
  headers: Record<string, unknown>;
  isStream: boolean;
  /** Whether a part of it was recorded. */
  isKnown: boolean;
  /** The part of its body that is not recorded yet. Null if that part is too long. */
  text: string | null;
}

type Method = (this: http.ServerResponse, ...args: unknown[]) => unknown;

const directory = answerDirectory(os.tmpdir());
const going = new WeakMap<http.ServerResponse, Going>();
const seen = new Set<string>();

/** Marks a process in which answers are recorded: files of tests that share a worker each load this one. */
const RECORDED = Symbol.for('answers are recorded');
const marked = globalThis as { [RECORDED]?: true };
if (!marked[RECORDED] && fs.existsSync(directory)) {
  marked[RECORDED] = true;
  recordAnswers();
}

function recordAnswers(): void {
  // Opened before all else and kept: a test may let its server have no more files, or replace what is in `fs`.
  const { writeSync } = fs;
  const file = fs.openSync(path.join(directory, `${process.pid}-${randomUUID()}${ANSWERS}`), 'a');
  const saveResponse = (answer: Answer) => void writeSync(file, `${JSON.stringify(answer)}\n`);
  const prototype = http.ServerResponse.prototype as unknown as {
    writeHead: Method;
    write: Method;
    end: Method;
  };
  const { writeHead, write, end } = prototype;

  prototype.writeHead = function (...args) {
    const result = writeHead.apply(this, args);
    const given = args.find((arg) => arg !== null && typeof arg === 'object') ?? {};
    const headers = Object.fromEntries(
      Object.entries({ ...this.getHeaders(), ...given }).map(([name, value]) => [
        name.toLowerCase(),
        value as unknown,
      ]),
    );
    // A proxy answers for other servers.
    if (!this.req.url?.startsWith('/')) return result;
    const isStream = String(headers['content-type']).startsWith('text/event-stream');
    going.set(this, { headers, isStream, isKnown: false, text: '' });
    return result;
  };

  prototype.write = function (...args) {
    const result = write.apply(this, args);
    const answer = take(this, args[0]);
    if (answer?.isStream) recordFrames(this, answer, saveResponse);
    return result;
  };

  prototype.end = function (...args) {
    const result = end.apply(this, args);
    const answer = take(this, args[0]);
    if (answer && !answer.isStream) saveResponse(answerOf(this, answer, bodyOf(answer)));
    return result;
  };
}

/** Takes note of a part of a body. The headers are there by then: whatever is sent sends them first. */
function take(response: http.ServerResponse, part: unknown): Going | undefined {
  const answer = going.get(response);
  if (answer && answer.text !== null && (typeof part === 'string' || Buffer.isBuffer(part))) {
    const text = answer.text + part.toString();
    answer.text = text.length > MAX_BYTES ? null : text;
  }
  return answer;
}

/** The frames of a stream that no other stream had. A stream writes whole frames. */
function recordFrames(
  response: http.ServerResponse,
  going: Going,
  saveResponse: (answer: Answer) => void,
): void {
  const text = withoutFilling(going.text ?? '');
  const frames = text.split('\n\n').filter(isNew);
  going.text = '';
  if (going.isKnown && frames.length === 0) return;
  going.isKnown = true;
  saveResponse(answerOf(response, going, frames.join('\n\n')));
}

/** The body of an answer as it is checked: nothing describes what is in a file. */
function bodyOf({ headers, text }: Going): string | null {
  const isFile = headers['content-type'] === 'application/octet-stream';
  return text === null || isFile ? null : withoutFilling(text);
}

/** A text with each run of the filling letter cut: half of the text in the answers of a test run is filling. */
function withoutFilling(text: string): string {
  return text.replaceAll(FILLING, (run) => run.slice(0, MAX_FILLING));
}

/** A digest is remembered: a frame, as a part of what was written with it, would keep all of that in memory. */
function isNew(frame: string): boolean {
  const digest = hash('sha1', frame, 'base64');
  if (seen.has(digest)) return false;
  if (seen.size === MAX_REMEMBERED) seen.clear();
  seen.add(digest);
  return true;
}

function answerOf(
  { req, statusCode: status }: http.ServerResponse,
  { headers }: Going,
  body: string | null,
): Answer {
  const { method = '', url = '' } = req;
  return { method, url, status, headers, body };
}
