import { existsSync } from 'node:fs';
import path from 'node:path';
import { signal } from '../../../src/core/children/identity.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';

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

/** Calls `told` once a process is gone and its parent knows: what it has open is closed before its parent hears of it. */
export function onceGone(pid: number, told: () => void): void {
  if (signal(pid, 0) === 'gone') told();
  else systemClock.after(2, () => onceGone(pid, told));
}
