import fs from 'node:fs';
import path from 'node:path';
import { ClaudeConversations } from '../../../src/agents/claude/conversations.ts';
import { BoundedLine } from '../../../src/agents/bounded-line.ts';
import { listModels } from '../../../src/agents/codex/models.ts';
import { readAccount } from '../../../src/agents/codex/provider.ts';
import { CodexConversations, hasThread, listThreads } from '../../../src/agents/codex/threads.ts';
import { parsedJson } from '../../../src/core/lib/parsed-json.ts';
import { FleetCursor } from '../../../src/fleet/cursor.ts';
import { LogCursor } from '../../../src/frontends/cli/cursor-file.ts';
import { optionsWith, parseTemplate, fillTemplate } from '../../../src/frontends/cli/template.ts';
import { ServerListCache } from '../../../src/client/server-list-cache.ts';
import { callerPath, readCaller } from '../../../src/core/config/caller-file.ts';
import { findConfig } from '../../../src/core/config/load.ts';
import { findRegistration } from '../../../src/core/config/registration.ts';
import { HISTORY_FILE, PromptHistory } from '../../../src/core/lib/prompt-history.ts';
import {
  LogFile,
  logPath,
  measureLog,
  readLog,
  readLogEnd,
  verifyLog,
} from '../../../src/server/work/processes/log-file.ts';
import { tempDirectory } from '../../support/temp.ts';
import { Transcript } from '../../support/transcripts.ts';
import type { Form, Seed } from './mutate.ts';
import type { Target } from './runner.ts';

export function seed(kind: string, form: Form, content: string | Buffer | object): Seed {
  const isText = typeof content === 'string';
  const bytes = Buffer.isBuffer(content)
    ? content
    : Buffer.from(isText ? content : JSON.stringify(content));
  return { kind, form, bytes };
}

/** A target that writes each input to a file and reads that. */
function fileTarget(
  entry: string,
  seeds: readonly Seed[],
  read: (input: Seed, directory: string) => Promise<void> | void,
): Target {
  return {
    entry,
    seeds,
    async open() {
      const directory = tempDirectory('fuzz');
      return {
        feed: (input) => read(input, directory.path),
        [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
      };
    },
  };
}

const CONFIG = `[server]
bind_address = "127.0.0.1:7433"
allowed_hosts = ["a.example"]
drain_ms = 10000

[providers.acp]
command = "agent"
args = ["--acp"]
env = { A = "b" }
[providers.acp.agents.other]
command = "x"

[[hooks]]
name = "h"
command = "true"
events = ["turn.*"]

[[servers]]
name = "s"
url = "https://s.example"

[defaults]
provider = "acp"
agent = "other"
[screen]
theme = "dark"
[screen.keys]
quit = "ctrl+q"
`;

export const config = fileTarget(
  'findConfig of core/config/load',
  [seed('toml', 'text', CONFIG)],
  ({ bytes }, directory) => {
    const file = path.join(directory, 'config.toml');
    fs.writeFileSync(file, bytes);
    findConfig({ config: file }, {});
  },
);

const TEMPLATE = `description = "fix"
prompt = "fix {{what}} in {{where}}"
title = "fix {{what}}"
provider = "claude"
permission_mode = "read_only"
until = "make test"
max = 3
within = "1h30m"
[variables.what]
description = "the bug"
[variables.where]
default = "src"
`;

export const templates = fileTarget(
  'parseTemplate, fillTemplate and optionsWith of frontends/cli/template',
  [seed('toml', 'text', TEMPLATE)],
  ({ bytes }) => {
    const template = parseTemplate('t', bytes.toString());
    optionsWith(fillTemplate('t', template, ['what=$&']), {});
  },
);

const registered = {
  url: 'http://127.0.0.1:7433',
  pid: 2 ** 30,
  started_ticks: 12,
  boot_id: 'b',
  version: '0.1.0',
  token_file: null,
  log: null,
};
const caller = { name: 'c', token_id: 'tok_1', token: 'secret', session_id: null, url: 'http://x' };
const known = { at: 1, sessions: [{ id: 'a' }], approvals: [], processes: [{ id: 'p' }] };
const fleetCursor = {
  v: 1,
  stream: 's',
  seq: 4,
  at: 5,
  last: { seq: 3, id: 'e' },
  logs: { 'n e': { seq: 2, stays: 1 } },
};

/** The readers of small files, by kind. Each throws for a result that breaks its type. */
const smallFiles: Record<string, (directory: string, bytes: Buffer) => void> = {
  registration(directory, bytes) {
    fs.writeFileSync(path.join(directory, 'server.json'), bytes);
    const found = findRegistration(directory);
    if (found) assertTexts([found.server.url, found.server.version]);
  },
  caller(directory, bytes) {
    const file = callerPath(directory, 'c');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, bytes, { mode: 0o600 });
    const found = readCaller(directory, 'c');
    if (!found) throw new Error('the caller file was not found');
    assertTexts([found.token, found.token_id, found.url ?? '', found.session_id ?? '']);
  },
  cursor(directory, bytes) {
    const file = path.join(directory, 'cursor');
    fs.writeFileSync(file, bytes);
    new LogCursor(file, null).start('epoch');
  },
  'cursor of a fleet'(_directory, bytes) {
    const cursor = FleetCursor.parse(bytes.toString('base64url'));
    FleetCursor.parse(cursor.toString());
  },
  'last known'(directory, bytes) {
    fs.writeFileSync(path.join(directory, 'n.json'), bytes);
    const lists = new ServerListCache(directory, () => 5);
    lists.read('n');
    lists.write('n', { approvals: [] });
  },
  prompts(directory, bytes) {
    fs.writeFileSync(path.join(directory, HISTORY_FILE), bytes, { mode: 0o600 });
    const history = new PromptHistory(directory);
    history.add('a new prompt');
    assertTexts(history.read());
  },
};

function assertTexts(values: readonly unknown[]): void {
  for (const value of values)
    if (typeof value !== 'string')
      throw new Error(`expected a text, got a value of type ${typeof value}`);
}

export const small = fileTarget(
  'findRegistration, readCaller, LogCursor, FleetCursor, ServerListCache and PromptHistory',
  [
    seed('registration', 'json', registered),
    seed('caller', 'json', caller),
    seed('cursor', 'json', { epoch: 'epoch', seq: 4, bytes: null }),
    seed('cursor of a fleet', 'json', fleetCursor),
    seed('last known', 'json', known),
    seed('prompts', 'lines', '"one"\n"two\\nlines"\n"three"\n'),
  ],
  ({ kind, bytes }, directory) => smallFiles[kind]?.(directory, bytes),
);

/** The files of a log: the output itself, its layout and its sums. */
const logEnds = { output: '', layout: '.printed', sums: '.sums' } as const;
const LOG_CAP = 4096;

/** Writes a log that has dropped some output; returns its files, by their ends. */
async function writeLog(file: string): Promise<[end: string, content: Buffer][]> {
  const log = new LogFile(file, LOG_CAP);
  await log.append(Buffer.from('0123456789\n'.repeat(900)));
  await log.close();
  return Object.values(logEnds).map((end) => [end, fs.readFileSync(file + end)]);
}

async function logSeeds(): Promise<Seed[]> {
  using directory = tempDirectory('fuzz');
  const written = new Map(await writeLog(logPath(directory.path, 'proc_1', 'stdout')));
  const kinds = Object.entries(logEnds);
  return kinds.map(([kind, end]) =>
    seed(kind, kind === 'output' ? 'bytes' : 'text', written.get(end) ?? ''),
  );
}

export const logs: Target = {
  entry: 'readLog, readLogEnd, measureLog and verifyLog of server/work/processes',
  seeds: await logSeeds(),
  async open() {
    const directory = tempDirectory('fuzz');
    const file = logPath(directory.path, 'proc_1', 'stdout');
    const stored = await writeLog(file);
    let count = 0;
    return {
      async feed({ kind, bytes }) {
        for (const [end, content] of stored) fs.writeFileSync(file + end, content);
        // A log of a killed server has no sums.
        if (kind !== 'sums' && ++count % 2 === 0) fs.rmSync(`${file}.sums`);
        fs.writeFileSync(file + logEnds[kind as keyof typeof logEnds], bytes);
        await measureLog(file).catch(damage);
        await readLogEnd(file, 300).catch(damage);
        for (const from of [0, 2048, 2 ** 40]) await readLog(file, from, 5000).catch(damage);
        await verifyLog(file);
      },
      [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
    };
  },
};

/** Passes over the refusal of a damaged log, so that the next reader gets it too. */
function damage(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'storage_damaged') throw error;
}

/** The rows of a transcript, as Claude Code writes them. */
function transcriptRows(): string {
  using home = tempDirectory('fuzz');
  const transcript = new Transcript(home.path, { cwd: '/work' });
  transcript.turn('fix the bug');
  transcript.row('user', [
    { type: 'text', text: 'look' },
    { type: 'image', source: {} },
  ]);
  transcript.row('assistant', [
    { type: 'thinking', thinking: 'hm' },
    { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } },
  ]);
  transcript.row('user', [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }], {
    toolUseResult: {},
  });
  transcript.add({ type: 'summary', summary: 'a bug' });
  transcript.row('assistant', [{ type: 'text', text: 'done' }], { isSidechain: true });
  transcript.turn('<command-name>/clear</command-name>');
  return fs.readFileSync(transcript.file, 'utf8');
}

const REF = '11111111-2222-4333-8444-555555555555';

export const transcripts = fileTarget(
  'ClaudeConversations: list, find, turns and holders',
  [
    seed('transcript', 'lines', transcriptRows()),
    seed('holder', 'json', { sessionId: REF, pid: 2 ** 30, status: 'busy', procStart: '1' }),
  ],
  async ({ kind, bytes }, home) => {
    const project = path.join(home, 'projects', 'p');
    fs.mkdirSync(project, { recursive: true });
    fs.mkdirSync(path.join(home, 'sessions'), { recursive: true });
    const file = kind === 'holder' ? 'sessions/7.json' : `projects/p/${REF}.jsonl`;
    fs.writeFileSync(path.join(home, file), bytes);
    const signal = new AbortController().signal;
    const conversations = new ClaudeConversations({
      home: () => home,
      program: () => ['claude'],
      owns: () => false,
    });
    await conversations.list({ cwd: null, limit: 5 }, signal);
    await conversations.find(REF);
    const { turns } = await conversations.turns(REF, { after: null, max: 100 }, signal);
    for (const { prompt, items } of turns)
      assertTexts([prompt, ...items.flatMap(({ title, text }) => [title ?? '', text])]);
    (await conversations.holders())(REF);
  },
);

const thread = {
  id: 'th',
  path: null,
  cwd: '/work',
  name: 'a title',
  preview: 'fix the bug',
  source: 'cli',
  gitInfo: { branch: 'main' },
  createdAt: 1_767_225_600,
  updatedAt: 1_767_225_700,
  status: { type: 'idle' },
};
const codexTurn = {
  id: 'turn',
  status: 'completed',
  startedAt: 1_767_225_650,
  items: [
    { type: 'userMessage', id: 'u', content: [{ type: 'text', text: 'fix' }, { type: 'image' }] },
    { type: 'agentMessage', id: 'm', text: 'done' },
    {
      type: 'commandExecution',
      id: 'c',
      command: 'ls',
      aggregatedOutput: 'a',
      status: 'completed',
    },
  ],
};
const model = {
  model: 'm',
  displayName: 'M',
  hidden: false,
  supportedReasoningEfforts: [{ reasoningEffort: 'low' }],
  defaultReasoningEffort: 'low',
};
const answers = [
  { data: [thread], nextCursor: 'next' },
  { data: [thread, codexTurn], nextCursor: null },
  { thread },
  { data: [codexTurn], nextCursor: null },
  { data: [model], nextCursor: null },
  { account: { type: 'chatgpt' }, requiresOpenaiAuth: true },
];

/** The value of a line as far as a connection keeps it. */
function answerIn(text: string): unknown {
  const line = new BoundedLine();
  line.add(Buffer.from(text));
  return parsedJson(line.text);
}

/** The app-server of codex reads its own files; cadre gets its answers. */
export const threads = fileTarget(
  'CodexConversations, listModels, hasThread, listThreads and readAccount of codex',
  [seed('answers', 'lines', answers.map((one) => `${JSON.stringify(one)}\n`).join(''))],
  async ({ bytes }) => {
    const given = bytes.toString().split('\n').filter(Boolean).map(answerIn);
    const ask = () => Promise.resolve(given.length > 0 ? given.shift() : answers[3]);
    const own = { home: () => '/nowhere', program: () => ['codex'], owns: () => false };
    const conversations = new CodexConversations({ ...own, ask });
    const { signal } = new AbortController();
    await conversations.list({ cwd: null, limit: 5 }, signal);
    await conversations.find('th', signal);
    const { turns } = await conversations.turns('th', { after: null, max: 100 }, signal);
    for (const { prompt, items } of turns)
      assertTexts([prompt, ...items.flatMap(({ title, text }) => [title ?? '', text])]);
    await listModels(ask);
    const login = { id: 'codex' as const, hasOwnHome: false, from: {}, given: {} };
    assertTexts([readAccount(await ask(), login).mode ?? '']);
    await listThreads(ask);
    await hasThread({ ref: 'th', cwd: '/', isEmpty: false }, ask);
  },
);
