import type { FromServer } from './servers.ts';

/** The events of several readers by the time at which they were stored, those of one reader in its order. */
export async function* byTime(
  readers: readonly AsyncGenerator<FromServer, void>[],
): AsyncGenerator<FromServer, void> {
  const heads = await Promise.all(readers.map(headOf));
  for (;;) {
    const [first, ...others] = heads.filter((head) => head !== null);
    if (!first) return;
    const next = others.reduce(
      (least, head) => (timeOf(head) < timeOf(least) ? head : least),
      first,
    );
    yield next.value;
    heads[heads.indexOf(next)] = await headOf(next.reader);
  }
}

interface Head {
  value: FromServer;
  reader: AsyncGenerator<FromServer, void>;
}

async function headOf(reader: Head['reader']): Promise<Head | null> {
  const { done, value } = await reader.next();
  return done ? null : { value, reader };
}

/** A notice has no time: it comes at once. */
function timeOf({ value }: Head): number {
  return 'event' in value ? value.event.created_at : 0;
}
