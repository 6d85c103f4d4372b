import { Box, Text } from 'ink';
import { type ReactNode, useContext } from 'react';
import { isAppError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { PromptField } from '../forms/prompt-field.tsx';
import type { ListItem } from '../list/list-items.ts';
import { limitText, raceDetails, rowTextOf } from '../list/row-text.ts';
import { ConversationPane, LogPane, TeamPane } from '../panes/pane.tsx';
import { Colors, StyledText } from '../styled-text.tsx';
import { inPane, MouseBox } from './mouse-areas.tsx';
import type { ScreenState } from './screen-state.ts';

interface PaneAreaProps {
  shown: ScreenState;
  rows: number;
  columns: number;
}

/** The pane of the selected row with its title, and below it the message that the user writes. */
export function PaneArea({ shown, rows, columns }: PaneAreaProps): ReactNode {
  const { context, item, mode, attempt, view } = shown;
  const saying = mode.name === 'say' ? mode : null;
  // The conversation keeps at least half of the room.
  const below = saying ? Math.min(6, Math.floor(rows / 2)) : 0;
  return (
    <MouseBox
      flexDirection="column"
      width={columns}
      height={rows}
      overflow="hidden"
      onMouseAction={(mouseAction) => inPane(shown, mouseAction)}
    >
      {item && <Title item={item} now={view.now} />}
      <Opened shown={shown} rows={rows - 1 - below} columns={columns} />
      {saying && (
        <>
          <StyledText tone="faint">{'─'.repeat(columns)}</StyledText>
          <PromptField
            key={saying.session.id}
            session={saying.session}
            drafts={context.drafts}
            history={context.history}
            client={context.client}
            columns={columns}
            rows={below - 1}
            onLeave={shown.back}
            onSend={(text) => attempt(send(shown, saying.session, text))}
          />
        </>
      )}
    </MouseBox>
  );
}

function Title({ item, now }: { item: ListItem; now: number }): ReactNode {
  const { symbol, tone, title, location, agent } = rowTextOf(item, now);
  const limit = item.kind === 'session' ? limitText(item.now.session, now) : '';
  const race = item.kind === 'session' && item.race ? raceDetails(item.race) : '';
  return (
    <Text wrap="truncate-end">
      <StyledText tone={tone}>{symbol} </StyledText>
      <Text bold>{title}</Text>
      <StyledText tone="faint">
        {['', location, agent].filter((part, i) => i === 0 || part).join('  ')}
      </StyledText>
      {race !== '' && <StyledText tone="faint">{`  ${race}`}</StyledText>}
      {limit !== '' && <StyledText tone="asks">{`  ${limit}`}</StyledText>}
    </Text>
  );
}

function Opened({ shown, rows, columns }: PaneAreaProps): ReactNode {
  const palette = useContext(Colors);
  const { pane, mode, showNotice, setHold } = shown;
  if (!pane || rows < 3) return <Box height={Math.max(0, rows)} flexShrink={0} />;
  const isFocused = mode.name === 'pane';
  const room = { rows, columns, isFocused, palette, showNotice, onHold: setHold };
  switch (pane.kind) {
    case 'conversation':
      return <ConversationPane key={pane.id} model={pane.model} {...room} />;
    case 'log':
      return <LogPane key={pane.id} model={pane.model} {...room} />;
    case 'team':
      return <TeamPane key={pane.id} model={pane.model} {...room} />;
  }
}

/** Says it, and forgets the draft; a refusal leaves the draft to be said later. While a turn runs it offers to queue it. */
async function send(shown: ScreenState, session: Session, text: string): Promise<void> {
  const { context, isWide, setMode, back } = shown;
  try {
    await context.actions.say(session.id, text);
  } catch (error) {
    if (!isAppError(error, 'turn_in_progress')) throw error;
    const answers = [{ keys: 'y', label: 'y yes', work: () => queue(shown, session, text) }];
    return setMode({
      name: 'confirm',
      question: { text: 'A turn is running. Queue the prompt?', answers },
    });
  }
  context.drafts.delete(session.id);
  // Where there is no room for both, the answer is what one wants to see next.
  if (isWide) back();
  else setMode({ name: 'pane' });
}

/** Queues it, and forgets the draft. */
async function queue(
  { context, showNotice }: ScreenState,
  session: Session,
  text: string,
): Promise<void> {
  const call = {
    params: { session_id: session.id },
    body: { input: { type: 'text' as const, text } },
  };
  const { session_holds: holds } = await context.client.call(endpoints.addToQueue, call);
  context.drafts.delete(session.id);
  const why = holds.map(({ message }) => oneLine(message)).join('; ');
  showNotice(
    why === ''
      ? `Queued: sent when the turn ends (${context.keys.label('queue')} shows the queue)`
      : `Queued, on hold: ${why}`,
  );
}
