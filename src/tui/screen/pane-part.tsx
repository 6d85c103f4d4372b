import { Box } from 'ink';
import type { ReactNode } from 'react';
import { Say } from '../forms/say.tsx';
import { Tint } from '../tint.tsx';
import type { Mode } from './mode.ts';
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
  const saying = mode.name === 'say' ? mode : null;
  const session = saying?.session;
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
      {saying && session && (
        <>
          <Tint tone="faint">{'─'.repeat(columns)}</Tint>
          <Say
            key={session.id}
            session={session}
            drafts={place.drafts}
            columns={columns}
            rows={below}
            onLeave={() => setMode({ name: saying.from })}
            onSend={(text) => attempt(send(shown, saying, text))}
          />
        </>
      )}
    </Box>
  );
}

type Saying = Extract<Mode, { name: 'say' }>;

/** Says it, and forgets the draft; a refusal leaves the draft to be said later. */
async function send(shown: Shown, { session, from }: Saying, text: string): Promise<void> {
  const { place, isWide, setMode } = shown;
  await place.acts.say(session.id, text);
  place.drafts.delete(session.id);
  // Where there is no room for both, the answer is what one wants to see next.
  setMode({ name: isWide ? from : 'pane' });
}
