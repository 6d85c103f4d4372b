// Loaded into every process of a test run that serves HTTP: vitest's workers, and servers by their NODE_OPTIONS.
// Each answer is checked against openapi.yaml as it goes out; the run's teardown reads what was found.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import { answerFiles } from './answer-files.ts';
import { DescribedAnswers } from './described-answers.ts';

/** A longer body is not read. */
const MAX_BYTES = 1024 * 1024;

/** An answer on its way. */
interface Going {
  headers: Record<string, unknown>;
  isStream: boolean;
  /** Of its body what was not checked yet; null where that is too long. */
  text: string | null;
}

type Method = (this: http.ServerResponse, ...args: unknown[]) => unknown;

const files = answerFiles(os.tmpdir());
const going = new WeakMap<http.ServerResponse, Going>();
const told = new Set<string>();
let described: DescribedAnswers | undefined;

/** Marks a process in which answers are checked: files of tests that share a worker each load this one. */
const CHECKED = Symbol.for('answers are checked');
const marked = globalThis as { [CHECKED]?: true };
if (!marked[CHECKED]) {
  marked[CHECKED] = true;
  checkAnswers();
}

function checkAnswers(): void {
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
    const isStream = String(headers['content-type']).startsWith('text/event-stream');
    going.set(this, { headers, isStream, text: '' });
    return result;
  };

  prototype.write = function (...args) {
    const result = write.apply(this, args);
    const answer = take(this, args[0]);
    if (answer?.isStream) check(this, answer);
    return result;
  };

  prototype.end = function (...args) {
    const result = end.apply(this, args);
    const answer = take(this, args[0]);
    if (answer && !answer.isStream) check(this, answer);
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

function check(response: http.ServerResponse, answer: Going): void {
  const { method = '', url = '' } = response.req;
  const { statusCode: status } = response;
  const { headers, text: body } = answer;
  if (answer.isStream) answer.text = '';
  described ??= new DescribedAnswers(
    JSON.parse(fs.readFileSync(files.description, 'utf8')) as object,
  );
  const { request, wrong } = described.check({ method, url, status, headers, body });
  for (const fault of wrong) tell(files.wrong, `${request} ${status}: ${fault}`);
  if (status < 400) tell(files.succeeded, request);
}

/** Once a process. */
function tell(file: string, line: string): void {
  if (told.has(line)) return;
  told.add(line);
  fs.appendFileSync(file, `${line}\n`);
}
