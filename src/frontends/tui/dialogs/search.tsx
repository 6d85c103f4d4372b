import { Text } from 'ink';
import { type ReactNode, useState } from 'react';
import { endpoints } from '../../../api/index.ts';
import type { SearchHit } from '../../../api/search.ts';
import type { Client } from '../../../client/client.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { ago } from '../../terminal/time.ts';
import { useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useRead } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';
import { ChoiceLine, Frame, useChoice } from './dialog.tsx';

interface SearchDialogProps extends DialogProps {
  onOpen: (hit: SearchHit) => void;
}

/** A text is searched for once nobody has typed for so long, in milliseconds. */
const REST_MS = 200;
const LIMIT = 50;

/** A search in all sessions, with results while the user types. */
export function SearchDialog(props: SearchDialogProps): ReactNode {
  const { context, notices, rows, columns, onOpen, onLeave } = props;
  const { client, clock } = context;
  const [text, setText] = useState('');
  const found = useRead(notices, [client, clock, text], async (signal) => {
    await clock.sleep(REST_MS, signal);
    return hitsOf(client, text);
  });
  const { hits, note } = found ?? { hits: [], note: 'Searching …' };
  const shown = Math.max(1, Math.floor((rows - 2) / 2));
  const { at, first, to, arrows } = useChoice(hits.length, shown);
  useKeys(arrows);
  const now = clock.now();
  return (
    <Frame rows={rows} footer={note || '↑ ↓ select  ⏎ open  esc back'}>
      <Prompt
        columns={columns}
        question="Search:"
        onChange={(next) => {
          setText(next);
          to(0);
        }}
        onCancel={onLeave}
        onAnswer={() => {
          const hit = hits[at];
          if (hit) onOpen(hit);
        }}
      />
      {hits.slice(first, first + shown).map((hit, i) => (
        <Hit
          key={`${hit.session_id} ${hit.item_id ?? hit.turn_id ?? 'title'}`}
          hit={hit}
          isChosen={first + i === at}
          now={now}
        />
      ))}
    </Frame>
  );
}

interface Hits {
  hits: readonly SearchHit[];
  /** A note instead of the hits, or about them. */
  note: string;
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

interface HitProps {
  hit: SearchHit;
  isChosen: boolean;
  now: number;
}

function Hit({ hit, isChosen, now }: HitProps): ReactNode {
  const { kind, created_at, session_title: title, session_id, node } = hit;
  const of = [title ?? session_id, ...(typeof node === 'string' ? [node] : [])].map(oneLine);
  return (
    <>
      <ChoiceLine isChosen={isChosen}>
        <StyledText tone="faint">{`${ago(now - created_at).padEnd(4)} ${kind.padEnd(6)} `}</StyledText>
        {of.join('  ')}
      </ChoiceLine>
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
