import { usageError } from '../api/errors.ts';
import { ADMIN } from './keys.ts';
import { isName } from './names.ts';
import { fleetAccounts, type FleetPlan } from './nats-accounts.ts';

/**
 * The configuration of the NATS servers of a fleet, the same for each host, with an account for each node and person,
 * who may do what they need and nothing else. `keyOf` returns the public nkey for a name of `keyNames`. Throws `usage` for names
 * that collide, and for a number of hosts that makes no sense.
 */
export function natsConfig(plan: FleetPlan, keyOf: (name: string) => string): string {
  assertSound(plan);
  return `${preface(plan)}
server_name: $NATS_NAME
listen: "0.0.0.0:4222"
# A request with images can have several megabytes.
max_payload: 8MB
${PINGS}
jetstream {
  store_dir: "${plan.storeDirectory}"
  max_file_store: 20GB
}
${tls(plan.tlsDirectory)}
${plan.hosts.length > 1 ? cluster(plan) : ''}${fleetAccounts(plan, keyOf)}`;
}

/** How NATS servers find out about each other and their clients. Without it a server that hangs swallows requests for minutes. */
export const PINGS = `# Close the connection to a server or client that does not respond for 6 seconds.
ping_interval: "2s"
ping_max: 2`;

function assertSound({ hosts, nodes, admins, readers }: FleetPlan): void {
  if (hosts.length !== 1 && hosts.length !== 3)
    throw usageError(
      `invalid number of NATS hosts (${hosts.length}): pass --host once, or three times for a cluster that tolerates the loss of one host`,
    );
  const people = [...admins, ...readers];
  const all = [ADMIN, ...nodes, ...people];
  const wrong = all.find((name) => !isName(name));
  if (wrong !== undefined)
    throw usageError(
      `invalid name "${wrong}" of a node or user: use 1 to 63 letters, digits, "-" or "_"`,
    );
  // Where somebody made the accounts otherwise, answers come to an inbox of that name, and two would read each other's.
  const twice = all.find((name, at) => all.indexOf(name) !== at);
  if (twice !== undefined)
    throw usageError(`duplicate name "${twice}": each node and each user needs a unique name`);
  if (nodes.length === 0)
    throw usageError('no node given: pass --node NAME for each server of the fleet');
  const host = hosts.find((one) => !/^[A-Za-z0-9.-]+$/.test(one));
  if (host !== undefined)
    throw usageError(`invalid host "${host}": expected a host name or an IP address`);
}

function tls(directory: string): string {
  return `tls {
  cert_file: "${directory}/server.pem"
  key_file: "${directory}/server.key"
  ca_file: "${directory}/ca.pem"
}`;
}

/** The servers talk to each other with certificates that both sides check. */
function cluster({ hosts, tlsDirectory }: FleetPlan): string {
  return `cluster {
  name: cadre
  listen: "0.0.0.0:6222"
  routes: [
${hosts.map((host) => `    "nats://${host}:6222"`).join('\n')}
  ]
  ${tls(tlsDirectory)
    .replaceAll('\n', '\n  ')
    .replace(/\n {2}\}$/, '\n    verify: true\n  }')}
}
`;
}

function preface({ fleet, hosts, tlsDirectory }: FleetPlan): string {
  const count = hosts.length;
  return `# NATS for the fleet "${fleet}" of cadre: the same file for ${count === 1 ? 'the NATS host' : 'all three NATS hosts'}.
#
# Create the certificates once, with these commands or another certificate authority. Copy ca.pem and the two files of
# the host, as server.pem and server.key, to ${tlsDirectory} on each host. Do not copy ca.key.
#
#   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=cadre fleet" -keyout ca.key -out ca.pem
#   for host in ${hosts.join(' ')}; do
#     openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$host" -keyout $host.key -out $host.csr
#     case $host in *[a-z]*) name=DNS:$host ;; *) name=IP:$host ;; esac
#     printf "subjectAltName=$name\\nextendedKeyUsage=serverAuth,clientAuth\\n" > $host.ext
#     openssl x509 -req -in $host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile $host.ext -out $host.pem
#   done
#
# Start NATS on ${count === 1 ? 'the host' : 'each host, with a different name (nats-1, nats-2, nats-3)'}:
#
#   NATS_NAME=nats-1 GOMEMLIMIT=1GiB nats-server -c nats.conf
`;
}
