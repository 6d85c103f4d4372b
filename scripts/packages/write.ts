import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { archive, type Entry } from '../tar.ts';
import { debArchitectures, debName, debPackage } from './deb.ts';
import { archivesAddress, homebrewFormula, imageRecipe, installScript } from './recipes.ts';

interface ReleaseOptions {
  version: string;
  /** The time of all packed files, in Unix seconds. */
  seconds: number;
  /** The installed files of each target, as layout.ts lists them. */
  builds: readonly { target: string; files: readonly Entry[] }[];
  /** The address at which the archives will be; '' if it is not known yet. */
  archives?: string;
}

/** Writes the packages of a release to a directory, and SHA256SUMS of all files there. */
export function writePackages(out: string, options: ReleaseOptions): void {
  const { version, seconds, builds } = options;
  const archives = options.archives ? archivesAddress(options.archives) : '';
  for (const { target, files } of builds) {
    const name = `cadre-${version}-${target}`;
    write(out, `${name}.tar.gz`, archive(name, files, seconds));
    const architecture = debArchitectures[target];
    if (architecture !== undefined) {
      const deb = { version, architecture, seconds };
      write(out, debName(deb), debPackage(files, deb));
    }
  }
  const release = { version, archives, digests: digestsOf(out) };
  write(out, 'install.sh', installScript(archives));
  if (archives) {
    write(out, 'cadre.rb', homebrewFormula(release));
    const image = imageRecipe(release);
    if (image !== undefined) write(out, 'Dockerfile', image);
  }
  const lines = [...digestsOf(out)].map(([name, digest]) => `${digest}  ${name}\n`);
  write(out, 'SHA256SUMS', lines.join(''));
}

function write(out: string, name: string, bytes: string | Buffer): void {
  fs.writeFileSync(join(out, name), bytes);
}

function digestsOf(out: string): Map<string, string> {
  const names = fs.readdirSync(out).toSorted();
  return new Map(names.map((name) => [name, digestOf(join(out, name))]));
}

function digestOf(file: string): string {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}
