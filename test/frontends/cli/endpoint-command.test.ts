import { expect, it } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';

it.each(Object.entries<Endpoint>(endpoints))(
  'A field of %s is in its path, its query or its body, so that a parameter of a command can name it.',
  (_name, { params, query, body }) => {
    const inBody = body && 'shape' in body ? Object.keys(body.shape as object) : [];
    const names = [...Object.keys(params), ...Object.keys(query), ...inBody];
    expect(names).toEqual([...new Set(names)]);
  },
);
