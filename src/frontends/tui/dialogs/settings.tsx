import { Text } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import type { Model } from '../../../api/providers.ts';
import type { Session } from '../../../api/sessions.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { oneLine } from '../../../client/event-summary.ts';
import { padded } from '../../terminal/width.ts';
import { permissionTexts } from '../forms/permission-field.tsx';
import { useKeys } from '../keyboard.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { ChoiceLine, Frame, useChoice } from './dialog.tsx';

interface SettingsDialogProps extends DialogProps {
  session: Session;
}

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
  const { session, context, notices, rows, columns, onLeave } = props;
  const { actions } = context;
  const { models, modes, note } = useOffers(props);
  const [settings, setSettings] = useState<Settings>(session);
  const options = optionsOf(session, settings, models, modes);
  const height = Math.max(1, rows - 2);
  const { at, first, keys } = useChoice(options.length, height);
  const nameColumns = Math.max(25, Math.min(35, Math.floor(columns * 0.4) - 1));
  const select = () => {
    const option = options[at];
    if (!option) return;
    actions.update(session.id, option.change).then(
      () => {
        setSettings((before) => ({ ...before, ...option.change }));
        notices.showNotice(`From the next turn on: ${option.name}`);
      },
      (error: unknown) => notices.showNotice(oneLine((error as Error).message)),
    );
  };
  useKeys({ ...keys, return: select, ' ': select, escape: onLeave, q: onLeave, c: onLeave });
  return (
    <Frame rows={rows} footer={note || '↑ ↓ select  ⏎ apply  esc back'}>
      <Text bold wrap="truncate-end">
        {`Model and mode of ${agentOf(session)}, from the next turn on`}
      </Text>
      {options.slice(first, first + height).map(({ id, name, meaning, isChosen }, i) => (
        <ChoiceLine key={id} isChosen={first + i === at} detail={`  ${meaning}`}>
          {padded(`${isChosen ? '●' : '○'} ${name}`, nameColumns)}
        </ChoiceLine>
      ))}
    </Frame>
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
    ...Object.entries(permissionTexts).map(([id, meaning]) => ({
      id: `permission ${id}`,
      name: `mode: ${id}`,
      meaning,
      isChosen: agent_mode === null && (permission_mode ?? 'default') === id,
      change: { permission_mode: id, agent_mode: null },
    })),
    ...modes
      .filter((id) => !Object.hasOwn(permissionTexts, id))
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
function useOffers({ session, context }: SettingsDialogProps) {
  const { provider, agent } = session;
  const node = context.overviewStore.overview.get().nodes.get(session.id)?.name ?? '';
  const [source] = useState(() => context.actionsOn(node));
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
