import { Box } from 'ink';
import type { ReactNode } from 'react';
import { Say } from '../forms/say.tsx';
import { Tint } from '../tint.tsx';
import { list } from './mode.ts';
import { PaneSlot } from './pane-slot.tsx';
import type { Shown } from './shown.ts';

/** The pane of what is selected, and below it what is being said. */
export function PanePart({
  shown,
  rows,
  columns,
}: {
  shown: Shown;
  rows: number;
  columns: number;
}): ReactNode {
  const { place, thing, mode, setMode, attempt } = shown;
  const session = mode.name === 'say' ? mode.session : null;
  // The conversation keeps at least half of the room.
  const below = session ? Math.min(10, Math.floor(rows / 2)) : 0;
  return (
    <Box flexDirection="column" width={columns} height={rows} overflow="hidden">
      <Box flexGrow={1} flexShrink={1} minHeight={0} overflow="hidden">
        {thing && (
          <PaneSlot
            key={thing.id}
            shown={shown}
            thing={thing}
            rows={rows - (session ? 2 : 0)}
            columns={columns}
            isFocused={mode.name === 'pane'}
          />
        )}
      </Box>
      {session && (
        <>
          <Tint tone="faint">{'─'.repeat(columns)}</Tint>
          <Say
            key={session.id}
            session={session}
            drafts={place.drafts}
            columns={columns}
            rows={below}
            onLeave={() => setMode(list)}
            onSend={(text) => attempt(send(shown, session.id, text))}
          />
        </>
      )}
    </Box>
  );
}

/** Says it, and forgets the draft; a refusal leaves the draft to be said later. */
async function send({ place, setMode }: Shown, session: string, text: string): Promise<void> {
  await place.acts.say(session, text);
  place.drafts.delete(session);
  setMode(list);
}
