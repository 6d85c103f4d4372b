import { z } from 'zod';
import { HOST_MESSAGE, HOST_PATTERN } from './host-pattern.ts';

export const sandboxMode = z.enum(['off', 'auto', 'require']);
export const sandboxNetwork = z.enum(['none', 'hosts', 'ask', 'all']);

/** The sandbox of a session, beside the section `[sandbox]` of the configuration. */
export const sessionSandbox = z
  .strictObject({
    mode: sandboxMode.default('require').meta({
      description:
        '`off`: no sandbox. `auto`: a sandbox if the machine allows one. `require`: the agent and its processes are refused without a sandbox.',
    }),
    network: sandboxNetwork.nullish().meta({
      description:
        '`none`: no network; the agent still reaches its model. `hosts`: the listed hosts. `ask`: a person decides about other hosts. `all`: the network of the machine. Default: the network of the configuration.',
    }),
    hosts: z
      .array(z.string().max(300).regex(HOST_PATTERN, HOST_MESSAGE))
      .max(100)
      .default([])
      .describe('More hosts for the networks `hosts` and `ask`.'),
    write: z
      .array(z.string().max(4096).regex(/^\//, 'must be an absolute path'))
      .max(100)
      .default([])
      .describe('More directories that the agent and its processes can write, as absolute paths.'),
  })
  .meta({
    id: 'SessionSandbox',
    description:
      'Sandbox of the agent of a session and of its processes. It extends the section `[sandbox]` of the configuration, which applies alone if the field is absent or null.',
  });
export type SessionSandbox = z.output<typeof sessionSandbox>;
