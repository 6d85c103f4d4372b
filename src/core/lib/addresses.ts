import { BlockList, isIP } from 'node:net';

/** Whether a list has an IP address. */
export function isListed(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Loopback addresses. An IPv4-mapped IPv6 address counts as its IPv4 address, here and in the other lists. */
export const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Addresses of private networks. */
export const privateNetworks = new BlockList();
privateNetworks.addSubnet('10.0.0.0', 8);
privateNetworks.addSubnet('100.64.0.0', 10);
privateNetworks.addSubnet('172.16.0.0', 12);
privateNetworks.addSubnet('192.168.0.0', 16);
privateNetworks.addSubnet('198.18.0.0', 15);
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fec0::', 10, 'ipv6');

/**
 * Addresses that cadre never connects to for others: metadata services of clouds, unspecified addresses and multicast
 * addresses.
 */
export const forbidden = new BlockList();
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
