import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../../core/config/hooks-section.ts';

/** Addresses of this machine alone. A mapped IPv4 address is judged as what it maps. */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Addresses that no hook may reach: of clouds, where machines read their own secrets, of no host, and of many. */
const forbidden = new BlockList();
forbidden.addSubnet('0.0.0.0', 8);
forbidden.addSubnet('169.254.0.0', 16);
forbidden.addSubnet('224.0.0.0', 3);
forbidden.addAddress('100.100.100.200');
forbidden.addAddress('168.63.129.16');
forbidden.addAddress('192.0.0.192');
forbidden.addAddress('::', 'ipv6');
forbidden.addSubnet('fe80::', 10, 'ipv6');
forbidden.addSubnet('ff00::', 8, 'ipv6');
// Networks of clouds for metadata and the like: AWS, Google, Scaleway, Oracle, Akamai.
for (const network of ['fd00:ec2::', 'fd20:ce::', 'fd00:42::', 'fd00:c1::', 'fd00:a9fe::'])
  forbidden.addSubnet(network, 32, 'ipv6');
// These carry an IPv4 address, which gateways send on to.
forbidden.addSubnet('64:ff9b::', 96, 'ipv6');
forbidden.addSubnet('64:ff9b:1::', 48, 'ipv6');
forbidden.addSubnet('2002::', 16, 'ipv6');
forbidden.addSubnet('::ffff:0:0:0', 96, 'ipv6');

/** Returns why a hook may not be sent to an address; null: it may. `protocol` and `hostname` are parts of its URL. */
export function objectionToAddress(
  address: string,
  { protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>,
): string | null {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (forbidden.check(address, family))
    return `${hostname} is ${address}, an address that hooks may not use`;
  const mustBeLocal = protocol === 'http:' || isLoopbackHost(hostname);
  if (mustBeLocal && !loopback.check(address, family))
    return `${hostname} is ${address}, which is not this machine: use https`;
  return null;
}

/** Whether a URL leads to the server itself, which listens at `own`. */
export function leadsTo(own: string, { hostname, port, protocol }: URL): boolean {
  if (own === '') return false;
  const server = new URL(own);
  const isHere = isLoopbackHost(hostname) || hostname === server.hostname;
  return isHere && (port || (protocol === 'https:' ? '443' : '80')) === (server.port || '80');
}
