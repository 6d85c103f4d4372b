import { useState } from 'react';
import type { EventScope } from '../client/replay.ts';
import { oneLine } from '../client/telling.ts';
import { type ApprovalAnswer, obstacle } from './approval-answer.tsx';
import type { Desk } from './desk.ts';
import { useKeys } from './keyboard.ts';
import type { Layer } from './top-foot.tsx';
import type { Choice } from './top-lines.ts';

interface TopKeys {
  choices: readonly Choice[];
  desk: Desk;
  /** How many lines the page shows. */
  height: number;
  layer: Layer;
  setLayer: (layer: Layer) => void;
  tell: (text: string) => void;
  onOpen: (scope: EventScope) => void;
  onLeave: () => void;
}

/** Subscribes to the keys of the overview. Returns the line that they have chosen. */
export function useTopKeys(page: TopKeys): Choice | undefined {
  const { choices, height, layer, setLayer, tell, onOpen, onLeave } = page;
  const [wanted, setWanted] = useState<string>();
  const indexOf = (key: string | undefined) =>
    Math.max(
      0,
      choices.findIndex((one) => one.key === key),
    );
  const chosen = choices[indexOf(wanted)];
  const step = (by: number) => () => {
    tell('');
    // Computed from the latest state, because several keys may come before the next render.
    setWanted((key) => choices[Math.max(0, Math.min(choices.length - 1, indexOf(key) + by))]?.key);
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
      a: () => ask(page, chosen, 'accept'),
      d: () => ask(page, chosen, 'decline'),
      i: () => interrupt(page, chosen),
      x: () => kill(page, chosen),
      '?': () => setLayer({ name: 'help' }),
      q: onLeave,
    },
    layer.name === 'lines',
  );
  const back = () => setLayer({ name: 'lines' });
  useKeys({ escape: back, return: back, q: back, '?': back }, layer.name === 'help');
  return chosen;
}

function scopeOf(chosen: Choice): EventScope {
  if ('process' in chosen) return { processId: chosen.key };
  return { sessionId: 'approval' in chosen ? chosen.approval.session_id : chosen.key };
}

function ask(
  { choices, setLayer, tell }: TopKeys,
  chosen: Choice | undefined,
  decision: ApprovalAnswer['decision'],
): void {
  const approval = chosen && approvalOf(chosen, choices);
  if (!approval) return tell('choose what waits for an answer');
  const answer = { approval, decision };
  const why = obstacle(answer);
  if (why === null) setLayer({ name: 'answer', answer });
  else tell(why);
}

/** The chosen approval, else the one that the chosen session waits for. */
function approvalOf(chosen: Choice, choices: readonly Choice[]) {
  if ('approval' in chosen) return chosen.approval;
  const waiting = choices.flatMap((one) => ('approval' in one ? [one.approval] : []));
  return waiting.find(({ session_id }) => session_id === chosen.key);
}

function interrupt({ desk, setLayer, tell }: TopKeys, chosen: Choice | undefined): void {
  const session = chosen && 'now' in chosen ? chosen.now.session : null;
  if (!session || session.active_turn_id === null)
    return tell('choose a session that is at something');
  const question = `interrupt ${oneLine(session.title ?? session.id.slice(-8))}?`;
  setLayer({ name: 'confirm', question, work: () => desk.interrupt(session) });
}

function kill({ desk, setLayer, tell }: TopKeys, chosen: Choice | undefined): void {
  const process = chosen && 'process' in chosen ? chosen.process : null;
  if (!process) return tell('choose a process');
  const question = `end ${oneLine(process.command).slice(0, 30)}?`;
  setLayer({ name: 'confirm', question, work: () => desk.kill(process) });
}
