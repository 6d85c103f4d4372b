import { z } from 'zod';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

export const sandboxKinds = {
  'sandbox.host_refused': kind({
    when: 'Emitted when the sandbox of a session refuses a connection to a host. Within one minute, one event reports all connections to the same host and port. An event during a turn contains the id of the turn.',
    payload: {
      host: z.string(),
      port: z.int(),
      reason: z.enum(['not_allowed', 'private_address']).meta({
        description:
          '`not_allowed`: no list contains the host, and no person has allowed it. `private_address`: the address belongs to the machine or to a private network.',
      }),
      message: z.string().describe('Text of the refusal, for users to read.'),
    },
    example: {
      host: 'registry.npmjs.org',
      port: 443,
      reason: 'not_allowed',
      message: 'the sandbox does not reach registry.npmjs.org:443: add the host to sandbox.hosts',
    },
  }),
};
