import type { Logger } from '../core/lib/log.ts';
import { Diverged, type MemberTask } from './member.ts';
import { Mirror, type MirrorParts } from './mirror.ts';
import { NatsMirrorStream } from './nats-mirror-stream.ts';

/** The task of a member that mirrors its events. */
export function mirrorTask(
  parts: Omit<MirrorParts, 'stream' | 'onState'> & { logger: Logger },
): MemberTask {
  return async ({ connection, names, node }, signal, report) => {
    const mirror = new Mirror({
      ...parts,
      stream: new NatsMirrorStream(connection, names, node),
      onState({ state, detail, notice, seq }) {
        parts.logger.info({ state, detail, notice, seq }, 'mirror');
        const trouble =
          state === 'unreachable' ? `cannot mirror events to the fleet: ${detail}` : null;
        report(trouble, notice);
      },
    });
    await mirror.run(signal);
    const { state, detail } = mirror.status;
    if (state === 'diverged') throw new Diverged(detail ?? state);
  };
}
