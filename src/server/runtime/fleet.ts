import { createHash } from 'node:crypto';
import os from 'node:os';
import type { TokenHolder } from '../../core/access/tokens.ts';
import type { FleetStatus } from '../../api/runtime.ts';
import { type FleetMembership, membershipOf } from '../../core/config/fleet.ts';
import type { Feed } from '../../core/events/feed.ts';
import type { HttpServer } from '../http/server.ts';
import { readSmallFile } from '../../core/lib/foreign-file.ts';
import { newUuid } from '../../core/lib/ids.ts';
import { version } from '../../core/lib/self.ts';
import type { Base } from './base.ts';
import { mirroredLog, mirrorRows } from './mirrored-log.ts';

interface FleetParts {
  agents: { readonly busy: number };
  server: HttpServer;
  feed: Feed;
}

/** The part of a member of a fleet that the runtime uses. */
interface Seat {
  readonly status: { state: FleetStatus['state']; detail: string | null };
  leave(): Promise<void>;
}

/**
 * The server's place in its fleet. Without a configured one it loads nothing. Whatever goes wrong with the fleet is in
 * its status and in the log, and nowhere else: local work continues.
 */
export class FleetSeat {
  readonly #base: Base;
  readonly #membership: FleetMembership | null;
  #taking: Promise<Seat | null> | undefined;
  #seat: Seat | null = null;
  #failure: string | null = null;

  constructor(base: Base) {
    this.#base = base;
    this.#membership = membershipOf(base.config.now);
  }

  get status(): FleetStatus {
    if (this.#membership === null) return { state: 'off' };
    const { state, detail } = this.#seat?.status ?? { state: 'joining', detail: this.#failure };
    return { state, ...(detail === null ? {} : { detail }) };
  }

  /** Begins to join the configured fleet, in the background. Called once the server listens. */
  join(parts: FleetParts): void {
    if (this.#membership === null) return;
    this.#taking = this.#join(this.#membership, parts).catch((error: unknown) => {
      this.#failure = error instanceof Error ? error.message : String(error);
      this.#base.logger.error({ err: error }, 'cannot join the fleet');
      return null;
    });
  }

  /** Leaves the fleet; takes 2 s at most, and never throws. */
  async leave(): Promise<void> {
    const seat = await this.#taking;
    await seat?.leave();
  }

  async #join(membership: FleetMembership, { agents, server, feed }: FleetParts): Promise<Seat> {
    const { clock, logger, db, config, failpoint } = this.#base;
    const { Member, mirrorTask } = await import('../../fleet/index.ts');
    const log = mirroredLog({ ...this.#base, feed });
    const mirrored = { log, rows: mirrorRows(db), clock, failpoint, logger };
    this.#seat = new Member({
      access: membership,
      labels: membership.labels,
      self: { instance: newUuid(), epoch: db.epoch, machine: machineId(), version },
      forks: log.forks.map(({ epoch }) => epoch),
      load: () => ({ live: agents.busy, max_live: config.now.providers.max_live }),
      ask: (request, { scope, user }) => server.ask(request, holderOf(scope, user)),
      tasks: membership.mirror ? [mirrorTask(mirrored)] : [],
      clock,
      logger,
    });
    return this.#seat;
  }
}

/** The engine's permissions say who may ask under which name, so a request of a fleet needs no token. */
function holderOf(scope: 'admin' | 'read', user: string): TokenHolder {
  return { id: `fleet:${user}`, scope, permissionMode: null, ended: NEVER };
}

/** A person's rights end with the permissions of the engine, and nothing that outlasts a request depends on them. */
const NEVER = new AbortController().signal;

/** Sixteen characters that identify this machine, and tell nothing of it: a digest of its id, or else of its name. */
function machineId(): string {
  return createHash('sha256').update(`cadre ${systemId()}`).digest('hex').slice(0, 16);
}

function systemId(): string {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const text = readSmallFile(file, { maxBytes: 1024 }).text.trim();
      if (text !== '') return text;
    } catch {
      // The next one may be there.
    }
  }
  return os.hostname();
}
