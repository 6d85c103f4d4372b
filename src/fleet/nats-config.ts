import { usageError } from '../api/errors.ts';
import { ADMIN, keyNames } from './keys.ts';
import { type AskingScope, isName, type Names, namesOf } from './names.ts';

/** Who is in a fleet, and where its NATS servers run. */
interface FleetPlan {
  fleet: string;
  /** The hosts of the NATS servers: one, or three, of which one may fail. */
  hosts: readonly string[];
  nodes: readonly string[];
  /** People who may do everything, and people who may only read. */
  admins: readonly string[];
  readers: readonly string[];
  /** The directory of the certificates on each host. */
  tlsDirectory: string;
  /** The directory of JetStream on each host. */
  storeDirectory: string;
}

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

/**
 * The accounts of a fleet in the NATS configuration. Permissions for subjects are not enough: they limit the requests of
 * a client, and not the subject of the response. A reader could have JetStream write a response as an event or a
 * heartbeat of another node. Each node and person therefore has its own account, which sees only its imports and keeps
 * its responses inside. Permissions are added, so that NATS reports a forbidden request as an error.
 */
function fleetAccounts(plan: FleetPlan, keyOf: (name: string) => string): string {
  const names = namesOf(plan.fleet);
  const people = [
    ...plan.admins.map((name) => personOf(names, plan, name, 'admin')),
    ...plan.readers.map((name) => personOf(names, plan, name, 'read')),
  ];
  const members = [...plan.nodes.map((name) => nodeOf(names, name)), ...people];
  return `accounts {
  FLEET {
    jetstream: enabled
    # Used by cadre fleet init to create the stream and the buckets
    users: [{ nkey: ${keyOf(keyNames.admin)} }]
    exports: [
${[...new Set(members.flatMap(({ uses }) => uses.map(exported)))].join('\n')}
    ]
  }
${members.map((member) => account(member, keyOf)).join('\n')}
}
`;
}

interface Use {
  /** The name of the account that offers it. */
  of: string;
  subject: string;
  /** One answer; several; or messages, to whoever listens. */
  kind: 'answer' | 'answers' | 'messages';
}

interface MemberAccount {
  about: string;
  name: string;
  key: string;
  /** Where its answers come to. */
  inbox: string;
  offers: readonly string[];
  /** Imports from the account of the fleet. */
  uses: readonly Use[];
  /** Imports from the accounts of nodes. */
  asks: readonly Use[];
}

/** A node writes as itself, reads what it has written last, and is asked. */
function nodeOf(names: Names, node: string): MemberAccount {
  return {
    about: `Node ${node}`,
    name: nodeAccount(node),
    key: keyNames.node(node),
    inbox: `${names.inbox(node)}.>`,
    offers: [names.requestsOf(node)],
    uses: [
      names.eventsOf(node),
      names.key(names.nodes, names.alive(node)),
      names.head(node),
      `$JS.API.STREAM.INFO.${names.events}`,
      `$JS.API.STREAM.MSG.GET.${names.bucketStream(names.nodes)}`,
    ].map(answer),
    asks: [],
  };
}

/** A person reads everything, and asks the nodes under one name and scope. */
function personOf(
  names: Names,
  { nodes }: FleetPlan,
  name: string,
  scope: Exclude<AskingScope, 'peer'>,
): MemberAccount {
  const stream = names.events;
  const alive = names.bucketStream(names.nodes);
  const placements = names.bucketStream(names.placements);
  const placing = [names.key(names.placements, '>'), `$JS.API.STREAM.MSG.GET.${placements}`];
  return {
    about: scope === 'admin' ? `User ${name}: all requests` : `User ${name}: read only`,
    name: `PERSON_${name}`,
    key: keyNames.person(name),
    inbox: `${names.inbox(name)}.>`,
    offers: [],
    uses: [
      ...[
        `$JS.API.STREAM.INFO.${stream}`,
        `$JS.API.STREAM.MSG.GET.${stream}`,
        ...(scope === 'admin' ? placing : []),
      ].map(answer),
      ...[`$JS.API.DIRECT.GET.${stream}`, `$JS.API.DIRECT.GET.${alive}`].map((subject): Use => ({
        of: FLEET,
        subject,
        kind: 'answers',
      })),
      { of: FLEET, subject: names.newsOf(names.allEvents), kind: 'messages' },
    ],
    asks: nodes.map((node) => ({
      of: nodeAccount(node),
      subject: names.request(node, scope, name),
      kind: 'answer',
    })),
  };
}

const FLEET = 'FLEET';

function nodeAccount(node: string): string {
  return `NODE_${node}`;
}

function answer(subject: string): Use {
  return { of: FLEET, subject, kind: 'answer' };
}

function account(member: MemberAccount, keyOf: (name: string) => string): string {
  const { about, name, key, inbox, offers, uses, asks } = member;
  const all = [...uses, ...asks];
  const heard = [...offers, inbox].map((subject) => ({ subject }));
  const intercepted = uses.filter(({ subject }) => isIntercepted(subject));
  return `  # ${about}
  "${name}" {
    users: [{ nkey: ${keyOf(key)}, permissions: {
      publish: [${quoted([...all.filter(isAsked), ...intercepted.map(({ subject }) => ({ subject: insideName(subject) }))])}]
      subscribe: [${quoted([...all.filter((use) => !isAsked(use)), ...heard])}]
      ${offers.length > 0 ? 'allow_responses: { max: 1, expires: "2m" }' : ''}
    } }]
    exports: [${offers.map((subject) => `{ service: "${subject}" }`).join(', ')}]
    imports: [
${all.map(imported).join('\n')}
    ]
    mappings: {
${intercepted.map(({ subject }) => `      "${subject}": "${insideName(subject)}"`).join('\n')}
    }
  }`;
}

function exported({ subject, kind }: Use): string {
  if (kind === 'messages') return `      { stream: "${subject}" }`;
  const many = kind === 'answers' ? ', response_type: stream' : '';
  return `      { service: "${subject}"${many} }`;
}

function imported({ of, subject, kind }: Use): string {
  const from = `{ account: "${of}", subject: "${subject}" }`;
  if (kind === 'messages') return `      { stream: ${from} }`;
  const to = isIntercepted(subject) ? `, to: "${insideName(subject)}"` : '';
  return `      { service: ${from}${to} }`;
}

/**
 * Whether NATS answers a request itself, with "not enabled for account", beside whoever it is imported from: then it has
 * another name inside the account, to which what is asked is mapped.
 */
function isIntercepted(subject: string): boolean {
  return subject.startsWith(API) && !subject.startsWith(`${API}DIRECT.`);
}

const API = '$JS.API.';

function insideName(subject: string): string {
  return `fleet.${subject.slice('$JS.'.length)}`;
}

/** Whether it is something that is asked for, and not something that one listens to. */
function isAsked({ kind }: Use): boolean {
  return kind !== 'messages';
}

function quoted(all: readonly Pick<Use, 'subject'>[]): string {
  return all.map(({ subject }) => `"${subject}"`).join(', ');
}
