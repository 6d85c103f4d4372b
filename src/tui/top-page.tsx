import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import type { Diagnostics } from '../api/runtime.ts';
import type { EventScope } from '../client/replay.ts';
import { oneLine } from '../client/telling.ts';
import type { Clock } from '../lib/clock.ts';
import { AnswerPrompt, type Asking, describeResolved, obstacle } from './asking.tsx';
import { Bar } from './bar.tsx';
import { Confirm } from './confirm.tsx';
import type { Desk } from './desk.ts';
import { duration } from './duration.ts';
import { Help, type Keys } from './help.tsx';
import { useNotice, useNow, useResolved, useSource } from './hooks.ts';
import { useKeys } from './keyboard.ts';
import { Link } from './link.tsx';
import { Tint } from './tint.tsx';
import { Told } from './told.tsx';
import { TopLine } from './top-line.tsx';
import { type Choice, choicesOf, linesAround, linesOf } from './top-lines.ts';

export interface TopPageProps {
  desk: Desk;
  clock: Clock;
  url: string;
  rows: number;
  columns: number;
  /** Shows the events of something. */
  onOpen: (scope: EventScope) => void;
  onLeave: () => void;
}

/** What is in front of the overview. */
type Layer =
  | { name: 'lines' | 'help' }
  | { name: 'answer'; asking: Asking }
  | { name: 'confirm'; question: string; doing: () => Promise<void> };

const lines: Layer = { name: 'lines' };

/** What goes on, and what a person does about it. */
export function TopPage(props: TopPageProps): ReactNode {
  const { desk, clock, url, rows, columns, onOpen, onLeave } = props;
  const overview = useSource(desk.overview);
  const connection = useSource(desk.connection);
  const now = useNow(clock);
  const { notice, tell, attempt } = useNotice();
  const [layer, setLayer] = useState<Layer>(lines);
  const [wanted, setWanted] = useState<string>();
  const { server } = overview;
  const all = linesOf(overview);
  const choices = choicesOf(all);
  const indexOf = (one: string | undefined) =>
    Math.max(
      0,
      choices.findIndex(({ key }) => key === one),
    );
  const chosen = choices[indexOf(wanted)];
  const height = Math.max(1, rows - 3);

  useResolved(desk, (resolved) => {
    tell(describeResolved(resolved));
    setLayer((is) => (is.name === 'answer' && is.asking.approval.id === resolved.id ? lines : is));
  });

  const step = (by: number) => () => {
    tell('');
    // Of several keys that come at once, each goes on from the one before.
    setWanted((one) => choices[Math.max(0, Math.min(choices.length - 1, indexOf(one) + by))]?.key);
  };
  const ask = (decision: Asking['decision']) => () => {
    const approval = chosen && approvalOf(chosen, choices);
    if (!approval) return tell('choose what waits for an answer');
    const asking = { approval, decision };
    const why = obstacle(asking);
    if (why === null) setLayer({ name: 'answer', asking });
    else tell(why);
  };
  const interrupt = () => {
    const session = chosen && 'now' in chosen ? chosen.now.session : null;
    if (!session || session.active_turn_id === null)
      return tell('choose a session that is at something');
    const question = `interrupt ${oneLine(session.title ?? session.id.slice(-8))}?`;
    setLayer({ name: 'confirm', question, doing: () => desk.interrupt(session) });
  };
  const kill = () => {
    const process = chosen && 'process' in chosen ? chosen.process : null;
    if (!process) return tell('choose a process');
    const question = `end ${oneLine(process.command).slice(0, 30)}?`;
    setLayer({ name: 'confirm', question, doing: () => desk.kill(process) });
  };

  useKeys(
    {
      upArrow: step(-1),
      k: step(-1),
      downArrow: step(1),
      j: step(1),
      pageUp: step(1 - height),
      pageDown: step(height - 1),
      home: step(-choices.length),
      g: step(-choices.length),
      end: step(choices.length),
      G: step(choices.length),
      return: () => chosen && onOpen(scopeOf(chosen)),
      e: () => onOpen({}),
      a: ask('accept'),
      d: ask('decline'),
      i: interrupt,
      x: kill,
      '?': () => setLayer({ name: 'help' }),
      q: onLeave,
    },
    layer.name === 'lines',
  );
  const back = () => setLayer(lines);
  useKeys({ escape: back, return: back, q: back, '?': back }, layer.name === 'help');

  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Bar
        left={
          <Text wrap="truncate-end">
            <Text bold>cadre top</Text> {url}
          </Text>
        }
        right={<Link connection={connection} now={now} />}
      />
      {server ? <Figures server={server} /> : <Text> </Text>}
      {layer.name === 'help' ? (
        <Help keys={keys} rows={height} />
      ) : (
        <Box flexDirection="column" height={height} overflow="hidden">
          {server && all.length === 0 && (
            <Tint tone="faint">no session is open: cadre run "say hello" opens one</Tint>
          )}
          {linesAround(all, chosen?.key, height).map((line) => (
            <TopLine
              key={'heading' in line ? line.heading : line.key}
              line={line}
              isChosen={'key' in line && line.key === chosen?.key}
              columns={columns}
              now={now}
            />
          ))}
        </Box>
      )}
      {layer.name === 'answer' ? (
        <AnswerPrompt asking={layer.asking} desk={desk} attempt={attempt} onDone={back} />
      ) : layer.name === 'confirm' ? (
        <Confirm
          question={layer.question}
          onAnswer={(yes) => {
            back();
            if (yes) attempt(layer.doing());
          }}
        />
      ) : (
        <Bar
          left={<Told notice={notice} connection={connection} otherwise={hintOf(chosen)} />}
          right={<Tint tone="faint">{layer.name === 'help' ? 'esc back' : '? help  q quit'}</Tint>}
        />
      )}
    </Box>
  );
}

/** How the server is. Its uptime is as of the last look. */
function Figures({ server }: { server: Diagnostics }): ReactNode {
  const { health, memory, streams, storage } = server;
  const figures = [
    health.version,
    `up ${duration(health.uptime_ms)}`,
    `${Math.round(memory.rss_bytes / 1024 ** 2)} MiB`,
    `${streams.followers} streams`,
    `${storage.latest_seq} events`,
  ];
  return (
    <Text wrap="truncate-end">
      <Tint tone={health.status === 'ok' ? 'good' : 'bad'}>{health.status}</Tint>{' '}
      {figures.join('  ')}
    </Text>
  );
}

/** The approval that is meant: the chosen one, else the one that the chosen session waits for. */
function approvalOf(chosen: Choice, choices: readonly Choice[]) {
  if ('approval' in chosen) return chosen.approval;
  const waiting = choices.flatMap((one) => ('approval' in one ? [one.approval] : []));
  return waiting.find(({ session_id }) => session_id === chosen.key);
}

function scopeOf(chosen: Choice): EventScope {
  if ('process' in chosen) return { processId: chosen.key };
  return { sessionId: 'approval' in chosen ? chosen.approval.session_id : chosen.key };
}

function hintOf(chosen: Choice | undefined): string {
  if (!chosen) return '';
  if ('approval' in chosen) return 'a accept  d decline  enter its session';
  if ('process' in chosen) return 'enter its events  x end it';
  const { active_turn_id } = chosen.now.session;
  return active_turn_id === null ? 'enter its events' : 'enter its events  i interrupt';
}

const keys: Keys = [
  ['up down j k', 'to another line'],
  ['enter', 'the events of it; q there comes back'],
  ['e', 'the events of everything'],
  ['a d', 'accept, decline what waits, with a reason if you like'],
  ['i', 'interrupt what a session is at'],
  ['x', 'end a process and all it started'],
  ['q ctrl-c', 'leave'],
];
