import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { commits } from './commits.ts';

/** Responses of the server that wrote the data, by the path that was asked. */
export type Answers = Record<string, unknown>;

export interface StoredFormat {
  format: number;
  /** A session that the demo agent can continue. */
  session: string;
  /** The newest seq when the server answered. */
  seq: number;
  answers: Answers;
}

/** The formats whose data are stored, the oldest first. */
export const storedFormats = Object.keys(commits).map(Number);

/** Packs a data directory, without what belongs to the run that made it. */
export function packFormat(directory: string, about: StoredFormat): number {
  fs.writeFileSync(path.join(directory, 'about.json'), JSON.stringify(about));
  const kept = fs
    .readdirSync(directory)
    .filter((name) => /^(README|about\.json|blobs|demo-agent|logs|events\.cadre.*)$/.test(name));
  const settings = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const output = ['--use-compress-program=xz -9e', '-cf', archiveOf(about.format)];
  execFileSync('tar', [...settings, ...output, '-C', directory, ...kept]);
  return fs.statSync(archiveOf(about.format)).size;
}

/** Unpacks the data of a format into a directory. */
export function unpackFormat(format: number, directory: string): StoredFormat {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  execFileSync('tar', ['-xf', archiveOf(format), '-C', directory]);
  const file = path.join(directory, 'about.json');
  const about = JSON.parse(fs.readFileSync(file, 'utf8')) as StoredFormat;
  fs.rmSync(file);
  return about;
}

function archiveOf(format: number): string {
  const name = `${String(format).padStart(2, '0')}.tar.xz`;
  return path.join(import.meta.dirname, 'formats', name);
}
