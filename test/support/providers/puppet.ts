import { existsSync } from 'node:fs';
import path from 'node:path';

const PERL = '/usr/bin/perl';

/** The program of an agent that a test plays: its file, of which there are two that do the same, and what runs it. */
export const puppet = existsSync(PERL)
  ? { command: PERL, file: path.join(import.meta.dirname, 'puppet.pl') }
  : { command: process.execPath, file: path.join(import.meta.dirname, 'puppet.mjs') };

/** How cadre is to start it; it speaks with the test through that socket. */
export function puppetOn(socket: string) {
  const { command, file } = puppet;
  // Where the locale of the user is not installed, Perl says so on stderr.
  return { command, args: [file], env: { PUPPET_SOCKET: socket, PERL_BADLANG: '0' } };
}
