import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import type { PermissionMode } from '../../../api/permission-modes.ts';
import type { Model } from '../../../api/providers.ts';
import type { Session } from '../../../api/sessions.ts';
import { oneLine } from '../../../client/event-summary.ts';
import type { Acts } from '../acts.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { moveKeys, useKeys } from '../keyboard.ts';
import type { Notices } from '../react-hooks.ts';
import { Tint } from '../tint.tsx';

interface SettingsDialogProps {
  session: Session;
  acts: Acts;
  /** Returns the acts on the server of the session, which list its models and modes. */
  offersOf: () => Pick<Acts, 'models' | 'agents'>;
  notices: Notices;
  rows: number;
  columns: number;
  onLeave: () => void;
}

/** The effect of each permission mode, in one line. `bypass` is another name of `full_access`. */
const meanings: Readonly<Record<Exclude<PermissionMode, 'bypass'>, string>> = {
  default: 'Configuration of the agent; its requests are declined',
  require_approval: 'The agent asks you before it acts',
  read_only: 'The agent reads, and changes nothing',
  workspace_write: 'The agent writes in its directory without a request',
  accept_edits: 'The agent edits files without a request',
  full_access: 'The agent does everything without a request',
};

type Settings = Pick<Session, 'model' | 'permission_mode' | 'agent_mode'>;

interface Option {
  id: string;
  name: string;
  meaning: string;
  isChosen: boolean;
  change: Partial<Settings>;
}

/** Selects the model and the mode of the next turns of a session. */
export function SettingsDialog(props: SettingsDialogProps): ReactNode {
  const { session, acts, notices, rows, columns, onLeave } = props;
  const { models, modes, note } = useOffers(props);
  const [settings, setSettings] = useState<Settings>(session);
  const [wanted, setPlace] = useState(0);
  const options = optionsOf(session, settings, models, modes);
  const place = Math.min(wanted, options.length - 1);
  const height = Math.max(1, rows - 2);
  const first = Math.max(0, Math.min(place - Math.floor(height / 2), options.length - height));
  const to = (next: number) => () => setPlace(Math.max(0, Math.min(next, options.length - 1)));
  const select = () => {
    const option = options[place];
    if (!option) return;
    acts.update(session.id, option.change).then(
      () => {
        setSettings((before) => ({ ...before, ...option.change }));
        notices.tell(`From the next turn on: ${option.name}`);
      },
      (error: unknown) => notices.tell(oneLine((error as Error).message)),
    );
  };
  useKeys({
    ...moveKeys({
      height,
      by: (count) => to(place + count),
      toStart: to(0),
      toEnd: to(options.length - 1),
    }),
    return: select,
    ' ': select,
    escape: onLeave,
    q: onLeave,
    c: onLeave,
  });
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Text bold wrap="truncate-end">
        {`Model and mode of ${agentOf(session)}, from the next turn on`}
      </Text>
      {options.slice(first, first + height).map((option, i) => (
        <Row
          key={option.id}
          option={option}
          isSelected={first + i === place}
          width={Math.max(26, Math.min(36, Math.floor(columns * 0.4)))}
        />
      ))}
      <Box flexGrow={1} />
      <Tint tone="faint" wrap="truncate-end">
        {note === '' ? '↑ ↓ select  ⏎ apply  esc back' : note}
      </Tint>
    </Box>
  );
}

function Row({
  option: { name, meaning, isChosen },
  isSelected,
  width,
}: {
  option: Option;
  isSelected: boolean;
  width: number;
}): ReactNode {
  return (
    <Box height={1} flexShrink={0}>
      <Box width={width} flexShrink={0} marginRight={2}>
        <Text bold={isSelected} wrap="truncate-end">
          <Tint tone="name">{isSelected ? '▌' : ' '}</Tint>
          {`${isChosen ? '●' : '○'} ${name}`}
        </Text>
      </Box>
      <Tint tone="faint" wrap="truncate-end">
        {meaning}
      </Tint>
    </Box>
  );
}

function optionsOf(
  session: Session,
  { model, permission_mode, agent_mode }: Settings,
  models: readonly Model[],
  modes: readonly string[],
): Option[] {
  return [
    {
      id: 'model',
      name: 'model: default',
      meaning: 'Default model of the agent',
      isChosen: model === null,
      change: { model: null },
    },
    ...models.map(({ id, display_name }) => ({
      id: `model ${id}`,
      name: `model: ${oneLine(id)}`,
      meaning: oneLine(display_name),
      isChosen: model === id,
      change: { model: id },
    })),
    ...Object.entries(meanings).map(([id, meaning]) => ({
      id: `permission ${id}`,
      name: `mode: ${id}`,
      meaning,
      isChosen: agent_mode === null && (permission_mode ?? 'default') === id,
      change: { permission_mode: id, agent_mode: null },
    })),
    ...modes
      .filter((id) => !(id in meanings))
      .map((id) => ({
        id: `mode ${id}`,
        name: `mode: ${oneLine(id)}`,
        meaning: `Mode of the agent ${agentOf(session)}`,
        isChosen: agent_mode === id,
        change: { agent_mode: id },
      })),
  ];
}

/** The models and the own modes of the agent of a session. The agent may have to be started for its models. */
function useOffers({ session, offersOf }: SettingsDialogProps) {
  const { provider, agent } = session;
  const [source] = useState(offersOf);
  const [models, setModels] = useState<readonly Model[]>([]);
  const [modes, setModes] = useState<readonly string[]>([]);
  const [note, setNote] = useState('Loading the models …');
  useEffect(() => {
    source.models({ provider, agent }).then(
      (found) => {
        setModels(found);
        setNote('');
      },
      (error: unknown) => setNote(`cannot list the models: ${oneLine((error as Error).message)}`),
    );
    // Without them, the permission modes can still be selected.
    source.agents().then(
      (all) =>
        setModes(all.find((one) => one.provider === provider && one.agent === agent)?.modes ?? []),
      () => undefined,
    );
  }, [source, provider, agent]);
  return { models, modes, note };
}
