import { Box, render, Text, useApp, useWindowSize } from 'ink';
import { type ReactNode, useState } from 'react';
import { oneLine } from '../../client/event-summary.ts';
import { AppError } from '../../api/errors.ts';
import { paletteFor } from '../terminal/palette.ts';
import { wrapped } from '../terminal/width.ts';
import { Lines } from './dialogs/dialog.tsx';
import { emptyKeyboard, Listeners, useKeyboard } from './keyboard.ts';
import { Colors, StyledText } from './styled-text.tsx';

export interface StartOfferOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Closes the offer when it aborts. */
  signal: AbortSignal;
  /** The data directory on which no server runs. */
  directory: string;
  /** The file that a server that is started here logs to. */
  log: string;
  /** The command that stops such a server. */
  stopCommand: string;
  /** Starts a server, with the demo agent or without it. Throws an AppError where that fails. */
  start: (isDemo: boolean) => Promise<void>;
}

/** Offers to start a server. Resolves with whether one was started, and whether the user pressed Ctrl-C. */
export async function offerServerStart(
  options: StartOfferOptions,
): Promise<{ isStarted: boolean; interrupted: boolean }> {
  const { stdin, stdout, env, signal } = options;
  const end = { isStarted: false, interrupted: false };
  // The signal may have come while the offer was loaded.
  if (signal.aborted) return end;
  const app = render(
    <Colors value={paletteFor(stdout, env)}>
      <Offer
        {...options}
        onStarted={() => (end.isStarted = true)}
        onInterrupt={() => (end.interrupted = true)}
      />
    </Colors>,
    { stdin, stdout, interactive: true, alternateScreen: true, exitOnCtrlC: false },
  );
  signal.addEventListener('abort', () => app.unmount(), { once: true });
  await app.waitUntilExit();
  return end;
}

type StartOfferProps = StartOfferOptions & { onStarted: () => void; onInterrupt: () => void };

function Offer(props: StartOfferProps): ReactNode {
  const { directory, log, stopCommand, start, onStarted, onInterrupt } = props;
  const { exit } = useApp();
  const { rows, columns } = useWindowSize();
  const [state, setState] = useState<'asks' | 'starts' | { failed: string }>('asks');
  const begin = async (isDemo: boolean) => {
    setState('starts');
    try {
      await start(isDemo);
      onStarted();
      exit();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      setState({ failed: oneLine(error.message) });
    }
  };
  const [keyboard] = useState(emptyKeyboard);
  useKeyboard(keyboard, (input, key) => {
    if (key.ctrl && input === 'c') onInterrupt();
    if ((key.ctrl && input === 'c') || key.escape || input === 'q') exit();
    else if ((input === 's' || input === 'd') && state !== 'starts') void begin(input === 'd');
  });
  const width = columns - 4;
  const keys = [
    ['s', `Start a server, which keeps running after you quit (stop it with ${stopCommand})`],
    ['d', 'Start a server with the demo agent (no account, no model)'],
    ['q', 'Quit'],
  ] as const;
  return (
    <Listeners value={keyboard}>
      <Box flexDirection="column" width={columns} height={rows} paddingX={2} paddingY={1}>
        <Text bold>cadre</Text>
        <Lines lines={wrapped(`No server is running on ${directory}`, width, { trims: true })} />
        <Text> </Text>
        {state === 'starts' ? (
          <StyledText tone="good">Starting the server …</StyledText>
        ) : (
          keys.map(([key, meaning]) => (
            <Box key={key}>
              <Box width={3} flexShrink={0}>
                <StyledText tone="name">{key}</StyledText>
              </Box>
              <Text wrap="wrap">{meaning}</Text>
            </Box>
          ))
        )}
        <Text> </Text>
        {typeof state === 'object' && (
          <Lines lines={wrapped(state.failed, width, { trims: true })} />
        )}
        <StyledText tone="faint" wrap="wrap">
          Log: {log}
        </StyledText>
      </Box>
    </Listeners>
  );
}
