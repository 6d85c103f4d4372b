import { keyNames } from './keys.ts';
import { type AskingScope, type Names, namesOf } from './names.ts';

/** Who is in a fleet, and where its engine runs. */
export interface FleetPlan {
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
 * The accounts of a fleet in the NATS configuration. Permissions for subjects are not enough: they limit the requests of
 * a client, and not the subject of the response. A reader could have JetStream write a response as an event or a
 * heartbeat of another node. Each node and person therefore has its own account, which sees only its imports and keeps
 * its responses inside. Permissions are added, so that NATS reports a forbidden request as an error.
 */
export function fleetAccounts(plan: FleetPlan, keyOf: (name: string) => string): string {
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
${unique(members.flatMap(({ uses }) => uses.map(exported))).join('\n')}
    ]
  }
${members.map((member) => account(member, keyOf)).join('\n')}
}
`;
}

/** Something that an account offers to another. */
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
  const places = names.bucketStream(names.places);
  const placing = [names.key(names.places, '>'), `$JS.API.STREAM.MSG.GET.${places}`];
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
      publish: [${quoted([...all.filter(isAsked), ...intercepted.map(inside)])}]
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

function inside({ subject }: Use): { subject: string } {
  return { subject: insideName(subject) };
}

/** Whether it is something that is asked for, and not something that one listens to. */
function isAsked({ kind }: Use): boolean {
  return kind !== 'messages';
}

function quoted(all: readonly Pick<Use, 'subject'>[]): string {
  return all.map(({ subject }) => `"${subject}"`).join(', ');
}

function unique(all: readonly string[]): string[] {
  return [...new Set(all)];
}
