import { createHash } from 'node:crypto';
import os from 'node:os';
import type { TokenHolder } from '../../core/access/tokens.ts';
import type { FleetStatus } from '../../api/runtime.ts';
import { type FleetMembership, membershipOf } from '../../core/config/fleet.ts';
import type { Feed } from '../../core/events/feed.ts';
import { errorMessage } from '../../core/lib/error-message.ts';
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

/**
 * The server's membership in its fleet. Without a configured fleet it loads nothing. Whatever goes wrong with the fleet is
 * in its status and in the log, and nowhere else: local work continues.
 */
export function fleetMembership(base: Base) {
  const { logger, config } = base;
  const membership = membershipOf(config.now);
  let joining: Promise<FleetMember | null> | undefined;
  let member: FleetMember | null = null;
  let failure: string | null = null;
  return {
    get status(): FleetStatus {
      if (membership === null) return { state: 'off' };
      const { state, detail } = member?.status ?? { state: 'joining', detail: failure };
      return { state, ...(detail === null ? {} : { detail }) };
    },
    /** Begins to join the configured fleet, in the background. Called once the server listens. */
    join(parts: FleetParts): void {
      if (membership === null) return;
      joining = memberOf(base, membership, parts).then(
        (joined) => (member = joined),
        (error: unknown) => {
          failure = errorMessage(error);
          logger.error({ err: error }, 'cannot join the fleet');
          return null;
        },
      );
    },
    /** Leaves the fleet; takes 2 s at most, and never throws. */
    async leave(): Promise<void> {
      await (await joining)?.leave();
    },
  };
}

/** The part of a member of a fleet that the runtime uses. */
interface FleetMember {
  readonly status: { state: FleetStatus['state']; detail: string | null };
  leave(): Promise<void>;
}

async function memberOf(
  base: Base,
  membership: FleetMembership,
  { agents, server, feed }: FleetParts,
): Promise<FleetMember> {
  const { clock, logger, db, config, failpoint } = base;
  const { Member, mirrorTask } = await import('../../fleet/index.ts');
  const log = mirroredLog({ ...base, feed });
  const mirrored = { log, rows: mirrorRows(db), clock, failpoint, logger };
  return new Member({
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
