import { expect, it } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import { endpointCommand } from '../../../src/frontends/cli/endpoint-command.ts';

it.each(Object.entries<Endpoint>(endpoints))(
  'A field of %s is in its path, its query or its body, so that a parameter of a command can name it.',
  (_name, { params, query, body }) => {
    const inBody = body && 'shape' in body ? Object.keys(body.shape as object) : [];
    const names = [...Object.keys(params), ...Object.keys(query), ...inBody];
    expect(names).toEqual([...new Set(names)]);
  },
);

it('A parameter of an endpoint command has to name a field of the endpoint.', () => {
  const commandWith = (line: string) => () =>
    endpointCommand({
      name: 'close',
      description: 'Close a session',
      endpoint: endpoints.closeSession,
      parameters: [line],
      print: () => '',
    });
  expect(commandWith('--reason <text>  Reason for the action')).not.toThrow();
  expect(commandWith('--colour <name>  Colour of the session')).toThrow(
    'has no field for the parameter --colour <name>',
  );
});
