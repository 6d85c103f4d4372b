import { headers, type NatsConnection } from '@nats-io/transport-node';
import { conflictError, notFoundError } from '../api/errors.ts';
import { Bucket } from './bucket.ts';
import { NatsApi } from './nats-api.ts';
import { REPLACED_KIND } from './mirrored.ts';
import { natsHeaders, type Names } from './names.ts';
import { NatsMirrorStream } from './nats-mirror-stream.ts';
import { livingNodes } from './heartbeat.ts';

/**
 * Frees the name of a node for a server with another log: writes a message that is of no log behind its newest one, from
 * which the next server begins. Needs the admin's key. Returns the epoch that held the name; null if it was free. Throws
 * `conflict` for a node that is alive, and `not_found` for one that the fleet has nothing of.
 */
export async function replaceNode(
  connection: NatsConnection,
  names: Names,
  node: string,
): Promise<string | null> {
  const living = await livingNodes(new Bucket(connection, names, names.nodes));
  if (living.some((one) => one.node === node))
    throw conflictError(
      `cannot replace node "${node}", because the server of the node is running: stop that server first`,
    );
  const head = await new NatsMirrorStream(connection, names, node).head();
  if (head === null)
    throw notFoundError(
      `node name "${node}" is already free, because the fleet has no events of that node: see cadre fleet nodes`,
    );
  if (head.epoch === '') return null;
  const about = headers();
  about.set(natsHeaders.expectedLast, String(head.streamSeq));
  about.set(natsHeaders.expectedLastSubject, names.eventsOf(node));
  const mark = JSON.stringify({ from: { epoch: head.epoch, seq: head.seq } });
  const subject = names.event(node, REPLACED_KIND);
  await new NatsApi(connection, names).ask(subject, mark, { headers: about });
  return head.epoch;
}
