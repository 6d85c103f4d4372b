import type { Git } from '../git/git.ts';
import { lastOf, type Setting } from '../git/isolated-git-dir.ts';
import { refsOf, type Repository } from '../git/repository.ts';

/** Who commits, as the settings of git have it; one character for each byte. */
export interface Person {
  name: string;
  email: string;
}

/** A commit, with one character for each byte of its texts. */
export interface Commit {
  id: string;
  tree: string;
  parents: string[];
  /** Name, address, time and time zone of its author, as git writes them in one line. */
  author: string;
  encoding: string | null;
  isSigned: boolean;
  message: string;
}

/**
 * Returns the person whom git would name as committer: `user.name` and `user.email` of all settings that apply. Null if
 * one of them is not set.
 */
export function personOf(settings: readonly Setting[]): Person | null {
  const valueOf = (name: string) =>
    toBytes((lastOf(settings, name) ?? '').replaceAll(/[<>\p{Cc}]/gu, '').trim());
  const [name, email] = [valueOf('user.name'), valueOf('user.email')];
  return name === '' || email === '' ? null : { name, email };
}

/** Returns the line in which git stores who did something, and when; `at` in Unix milliseconds. */
export function signatureOf({ name, email }: Person, at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const two = (value: number) => String(Math.abs(Math.trunc(value))).padStart(2, '0');
  const zone = `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}${two(minutes % 60)}`;
  return `${name} <${email}> ${Math.floor(at / 1000)} ${zone}`;
}

/** Reads commits, in the order of their ids. */
export async function readCommits(
  git: Git,
  repository: Repository,
  ids: readonly string[],
): Promise<Commit[]> {
  if (ids.length === 0) return [];
  const output = await git.bytes(refsOf(repository), ['cat-file', '--batch'], ids.join('\n'));
  const commits: Commit[] = [];
  let at = 0;
  for (const id of ids) {
    const end = output.indexOf('\n', at);
    const size = Number(output.slice(at, end).split(' ')[2]);
    commits.push(parsed(id, output.slice(end + 1, end + 1 + size)));
    at = end + 1 + size + 1;
  }
  return commits;
}

/**
 * Writes a commit, and returns its id. The object is written as it is: nothing signs it, no hook runs, and the author's
 * line stays as it was.
 */
export function writeCommit(
  git: Git,
  repository: Repository,
  commit: Pick<Commit, 'tree' | 'parents' | 'author' | 'message'> & {
    committer: string;
    encoding?: string | null;
  },
): Promise<string> {
  const { tree, parents, author, committer, encoding, message } = commit;
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author}`,
    `committer ${committer}`,
    ...(encoding ? [`encoding ${encoding}`] : []),
  ];
  const content = `${lines.join('\n')}\n\n${message}`;
  return git.text(refsOf(repository), ['hash-object', '-t', 'commit', '-w', '--stdin'], content);
}

/** Returns the first paragraph of a message in one line, as git shows it. */
export function subjectOf({ message }: Pick<Commit, 'message'>): string {
  const [first = ''] = message.trimStart().split(/\n\s*\n/, 1);
  return toText(first.trim().replaceAll(/\s*\n\s*/g, ' '));
}

/** Encodes a text with one character for each byte, as git gets and prints it. */
export function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Decodes what git printed, with one character for each byte. */
export function toText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function parsed(id: string, content: string): Commit {
  const end = content.indexOf('\n\n');
  const head = end < 0 ? content : content.slice(0, end);
  const all = (name: string) =>
    [...head.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, value]) => value ?? '');
  return {
    id,
    tree: all('tree')[0] ?? '',
    parents: all('parent'),
    author: all('author')[0] ?? '',
    encoding: all('encoding')[0] ?? null,
    isSigned: /^gpgsig/m.test(head),
    message: end < 0 ? '' : content.slice(end + 2),
  };
}
