import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import { endpoints } from '../../../api/index.ts';
import type { SearchHit } from '../../../api/search.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { duration } from '../duration.ts';
import type { Notices } from '../react-hooks.ts';
import { useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { Tint } from '../tint.tsx';

interface SearchDialogProps {
  client: Client;
  clock: Clock;
  notices: Notices;
  rows: number;
  columns: number;
  onOpen: (hit: SearchHit) => void;
  onLeave: () => void;
}

/** A text is searched for once nobody has typed for so long, in milliseconds. */
const REST_MS = 200;
const LIMIT = 50;

/** What was said in all sessions, as one types. */
export function SearchDialog(props: SearchDialogProps): ReactNode {
  const { clock, rows, columns, onOpen, onLeave } = props;
  const [text, setText] = useState('');
  const { hits, note } = useHits(props, text);
  const [wanted, setPlace] = useState(0);
  const place = Math.max(0, Math.min(wanted, hits.length - 1));
  const shown = Math.max(1, Math.floor((rows - 2) / 2));
  const step = (by: number) => () => setPlace(Math.max(0, Math.min(place + by, hits.length - 1)));
  useKeys({
    upArrow: step(-1),
    downArrow: step(1),
    pageUp: step(-shown),
    pageDown: step(shown),
  });
  const first = Math.max(0, Math.min(place - shown + 1, hits.length - shown));
  const now = clock.now();
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Prompt
        columns={columns}
        question="Search:"
        onChange={(next) => {
          setText(next);
          setPlace(0);
        }}
        onCancel={onLeave}
        onAnswer={() => {
          const hit = hits[place];
          if (hit) onOpen(hit);
        }}
      />
      {hits.slice(Math.max(0, first), Math.max(0, first) + shown).map((hit, i) => (
        <Hit
          key={`${hit.session_id} ${hit.item_id ?? hit.turn_id ?? 'title'}`}
          hit={hit}
          isChosen={Math.max(0, first) + i === place}
          now={now}
        />
      ))}
      <Box flexGrow={1} />
      <Tint tone="faint" wrap="truncate-end">
        {note === '' ? '↑ ↓ select  ⏎ open  esc back' : note}
      </Tint>
    </Box>
  );
}

interface Hits {
  hits: readonly SearchHit[];
  /** What there is to say instead of hits, or of them. */
  note: string;
}

/** What a text finds; what was found before stays until then. */
function useHits({ client, clock, notices }: SearchDialogProps, text: string): Hits {
  const [found, setFound] = useState<Hits>({ hits: [], note: 'Searching …' });
  const { attempt } = notices;
  useEffect(() => {
    let isWanted = true;
    const find = async () => {
      const next = await hitsOf(client, text);
      if (isWanted) setFound(next);
    };
    const rest = clock.after(REST_MS, () => attempt(find()));
    return () => {
      isWanted = false;
      rest[Symbol.dispose]();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- searched anew with each text, and not with each drawing
  }, [client, clock, text]);
  return found;
}

async function hitsOf(client: Client, text: string): Promise<Hits> {
  const q = growing(text);
  if (q !== '' && !/[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(q)) return { hits: [], note: '' };
  const query = { ...(q === '' ? {} : { q }), limit: LIMIT };
  const hits = await client.call(endpoints.search, { query });
  const index = await client.call(endpoints.getSearchIndex, {});
  if (index.state === 'building')
    return { hits, note: `Building the index: ${Math.floor(index.done * 100)} %` };
  return { hits, note: hits.length === 0 ? 'No results' : '' };
}

/** The text as a query in which the last word may be the beginning of one, because it is still being typed. */
function growing(text: string): string {
  const query = text.trim().slice(0, 1900);
  if (!/[\p{L}\p{N}]$/u.test(query)) return query;
  const isOpen = (query.split('"').length - 1) % 2 === 1;
  return isOpen ? `${query}"*` : `${query}*`;
}

function Hit({
  hit,
  isChosen,
  now,
}: {
  hit: SearchHit;
  isChosen: boolean;
  now: number;
}): ReactNode {
  const { kind, created_at, session_title: title, session_id, node } = hit;
  const of = [title ?? session_id, ...(typeof node === 'string' ? [node] : [])].map(oneLine);
  return (
    <>
      <Text wrap="truncate-end" bold={isChosen}>
        <Tint tone="name">{isChosen ? '▌' : ' '}</Tint>
        <Tint tone="faint">{`${duration(now - created_at).padEnd(4)} ${kind.padEnd(6)} `}</Tint>
        {of.join('  ')}
      </Text>
      <Text wrap="truncate-end">
        {'   '}
        {partsOf(hit).map(({ at, text, isFound }) => (
          <Text key={at} inverse={isFound}>
            {text}
          </Text>
        ))}
      </Text>
    </>
  );
}

function partsOf({ text, marks }: SearchHit): { at: number; text: string; isFound: boolean }[] {
  const parts = [];
  let at = 0;
  for (const { start, end } of marks) {
    parts.push({ at, text: text.slice(at, start), isFound: false });
    parts.push({ at: start, text: text.slice(start, end), isFound: true });
    at = end;
  }
  return [...parts, { at, text: text.slice(at), isFound: false }].filter(
    (part) => part.text !== '',
  );
}
