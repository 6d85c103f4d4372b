import { Box, type Key, Text } from 'ink';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { Model } from '../../../api/providers.ts';
import type { AgentChoice } from '../../../client/agent-choices.ts';
import { ownEntry } from '../../../core/lib/own-entry.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { widthOf } from '../../terminal/width.ts';
import type { UserActions, NewSession as Wanted } from '../user-actions.ts';
import { useKey } from '../keyboard.ts';
import type { Observable } from '../observable.ts';
import { StyledText } from '../styled-text.tsx';
import { type Editor, emptyEditor, inserted } from './editor.ts';
import { Field } from './field.tsx';
import { PermissionField, permissionTexts } from './permission-field.tsx';
import type { Overview } from '../overview.ts';

const MAX_DIRECTORIES = 20;

/** The fields of the form, from top to bottom. */
const allFields = [
  'prompt',
  'node',
  'provider',
  'model',
  'permission',
  'mode',
  'cwd',
  'worktree',
] as const;
type FieldName = (typeof allFields)[number];

export type Choices = Record<FieldName, Editor>;

/** The choices before any were made: to work in a directory. */
export function firstChoices(cwd: string): Choices {
  const empty = Object.fromEntries(allFields.map((name) => [name, emptyEditor])) as Choices;
  return { ...empty, cwd: inserted(emptyEditor, cwd) };
}

const hints: Record<FieldName, string> = {
  prompt: 'Prompt for the agent; ^J: new line',
  node: '← → select',
  provider: '← → select',
  model: 'Default (← → select)',
  permission: '← → select',
  mode: 'Default (← → select)',
  cwd: 'Directory of the server',
  worktree: 'None; +: new; a name: new or existing',
};

const NO_AGENT = 'none: see cadre providers discover, or try cadre serve --demo';

/** Empty: the mode of the defaults. */
const PERMISSIONS = ['', ...Object.keys(permissionTexts)];

interface FormProps {
  /** Carries out a request on the server, or on the server with this name if there are several. */
  actionsOn: (node: string) => UserActions;
  /** The names of several servers; empty where there is one. */
  nodes: readonly string[];
  choices: Observable<Choices>;
  /** The directories that ^R puts into cwd, one after the other. */
  recent: readonly string[];
  columns: number;
  rows: number;
  /** Resolves with whether the session was created. */
  onCreate: (wanted: Wanted, actions: UserActions) => Promise<boolean>;
  onLeave: () => void;
}

/** Asks for a new session. Enter goes to the next field; the button below, or ^S anywhere, creates it. */
export function NewSessionForm(props: FormProps): ReactNode {
  const { actionsOn, nodes, choices, recent, columns, rows, onCreate, onLeave } = props;
  const [values, setValues] = useState(choices.get());
  const [at, setAt] = useState(0);
  const fields = allFields.filter((name) => name !== 'node' || nodes.length > 0);
  const node = nodes.find((name) => name === values.node.text) ?? nodes[0] ?? '';
  const actions = useMemo(() => actionsOn(node), [actionsOn, node]);
  const { chosen, hasNone, ...offers } = useOffers(
    actions,
    values.provider.text,
    fields[at] === 'model',
  );
  const offered = { ...offers, node: nodes, permission: PERMISSIONS, cwd: recent };
  const change = (name: FieldName, next: (editor: Editor) => Editor) =>
    setValues((before) => ({ ...before, [name]: next(before[name]) }));
  const create = useCreation(choices, values, () => onCreate(wantedOf(values, chosen), actions));
  const step = (by: number) => setAt((now) => Math.max(0, Math.min(fields.length, now + by)));
  const choose = (name: keyof typeof offered, by: number) => {
    const options = offered[name];
    if (options.length === 0) return;
    const now =
      name === 'node' ? node : name === 'provider' ? (chosen?.label ?? '') : values[name].text;
    const next = options[(options.indexOf(now) + by + options.length) % options.length];
    change(name, () => inserted(emptyEditor, next ?? ''));
  };
  const other = (input: string, key: Key) => {
    if (key.escape) onLeave();
    else if (key.ctrl && input === 's') void create();
    else if (key.ctrl && input === 'r' && fields[at] === 'cwd') choose('cwd', 1);
    else if (key.upArrow || (key.tab && key.shift)) step(-1);
    else if (key.downArrow || key.tab) step(1);
  };
  useKey((input, key) => {
    const name = fields[at];
    const isChoice = name === 'node' || name === 'provider';
    // These can also be written.
    const isOffered = name === 'model' || name === 'permission' || name === 'mode';
    if ((isChoice || isOffered) && (key.leftArrow || key.rightArrow))
      choose(name, key.leftArrow ? -1 : 1);
    else if (isChoice && key.return) step(1);
    else if (name === undefined && key.return) void create();
    else if (isChoice || name === undefined) other(input, key);
  });
  const modeName = nameBehind(chosen, values.mode.text);
  const recentKey = fields[at] === 'cwd' && recent.length > 0 ? '^R recent  ' : '';
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Text bold>New session</Text>
      {fields.map((name, i) => (
        <Labelled key={name} name={name} isActive={i === at}>
          {name === 'node' || name === 'provider' ? (
            <Text wrap="truncate-end">
              {name === 'node' ? node : (chosen?.label ?? (hasNone ? NO_AGENT : ''))}
              <StyledText tone="faint">{i === at ? `  ${offered[name].join(' ')}` : ''}</StyledText>
            </Text>
          ) : (
            <Written
              name={name}
              editor={values[name]}
              byDefault={actions.permissionMode}
              columns={columns - 13 - widthOf(name === 'mode' ? modeName : '')}
              room={rows - fields.length}
              isActive={i === at}
              onChange={(next) => change(name, next)}
              onEnter={() => step(1)}
              onOther={other}
            />
          )}
          {name === 'mode' && <StyledText tone="faint">{modeName}</StyledText>}
        </Labelled>
      ))}
      <Box marginTop={rows > 10 ? 1 : 0} flexShrink={0}>
        <Box flexShrink={0}>
          <Text inverse={at === fields.length}>{' Create '}</Text>
        </Box>
        <StyledText tone="faint">{`  ${recentKey}^S create  ⏎ next field  esc back`}</StyledText>
      </Box>
    </Box>
  );
}

/** Returns what creates the session once; the next form has the same choices, and the prompt only if the server refused it. */
function useCreation(
  choices: Observable<Choices>,
  values: Choices,
  onCreate: () => Promise<boolean>,
): () => Promise<void> {
  const [isCreating, setCreating] = useState(false);
  return async () => {
    if (isCreating) return;
    setCreating(true);
    choices.set(values);
    const isCreated = await onCreate();
    if (isCreated) choices.set({ ...values, prompt: emptyEditor });
    else setCreating(false);
  };
}

interface WrittenProps extends Omit<Parameters<typeof PermissionField>[0], 'hasRoom'> {
  name: FieldName;
  /** The lines of the form beside one for each field. */
  room: number;
}

function Written({ name, byDefault, room, ...field }: WrittenProps): ReactNode {
  if (name === 'permission')
    return (
      <PermissionField
        {...field}
        byDefault={byDefault}
        hasRoom={room > Object.keys(permissionTexts).length + 3}
      />
    );
  const rows = name === 'prompt' ? Math.max(1, Math.min(8, room - 2)) : 1;
  return <Field {...field} rows={rows} placeholder={hints[name]} />;
}

interface LabelledProps {
  name: FieldName;
  isActive: boolean;
  children: ReactNode;
}

function Labelled({ name, isActive, children }: LabelledProps): ReactNode {
  return (
    <Box flexShrink={0}>
      <Box width={12} flexShrink={0}>
        <StyledText tone={isActive ? 'name' : 'faint'} bold={isActive}>
          {`${isActive ? '▌' : ' '}${name}`}
        </StyledText>
      </Box>
      {children}
    </Box>
  );
}

/** The name of a mode, behind the mode in its field; empty if the mode has none. */
function nameBehind(chosen: AgentChoice | undefined, mode: string): string {
  const name = chosen && ownEntry(chosen.modeNames, mode);
  return name === undefined ? '' : `  ${oneLine(name)}`;
}

/**
 * The agents that are offered, the chosen one of them, which is the first one at first, and its models and modes. The
 * models are asked for once `wantsModels`: an agent may have to be started for them.
 */
function useOffers(
  actions: UserActions,
  label: string,
  wantsModels: boolean,
): {
  provider: string[];
  model: string[];
  mode: string[];
  chosen: AgentChoice | undefined;
  /** Whether the server has answered that it has no agent. */
  hasNone: boolean;
} {
  const [found, setAgents] = useState<AgentChoice[] | null>(null);
  const agents = found ?? [];
  const [offered, setFound] = useState<{ of: AgentChoice; models: string[] }>();
  const chosen = agents.find((one) => one.label === label) ?? agents[0];
  // A server that is away, or an agent that does not answer, offers nothing: the fields can still be written.
  useEffect(() => {
    actions.agents().then(setAgents, () => undefined);
  }, [actions]);
  useEffect(() => {
    const keep = (of: AgentChoice) => (models: Model[]) =>
      setFound({ of, models: models.map(({ id }) => id) });
    if (chosen && wantsModels) actions.models(chosen).then(keep(chosen), () => undefined);
  }, [actions, chosen, wantsModels]);
  // Without a model the session gets the agent's own.
  return {
    provider: agents.map((one) => one.label),
    model: ['', ...(offered && offered.of === chosen ? offered.models : [])],
    mode: ['', ...(chosen?.modes ?? [])],
    chosen,
    hasNone: found?.length === 0,
  };
}

function wantedOf(
  { prompt, model, permission, mode, cwd, worktree }: Choices,
  chosen: AgentChoice | undefined,
): Wanted {
  const textOf = ({ text }: Editor) => (text.trim() === '' ? null : text.trim());
  const name = textOf(worktree);
  return {
    prompt: prompt.text,
    session: {
      provider: chosen?.provider ?? null,
      agent: chosen?.agent ?? null,
      model: textOf(model),
      // A provider without named agents takes a mode of its own as permission_mode.
      permission_mode: textOf(permission),
      agent_mode: chosen?.agent ? textOf(mode) : null,
      cwd: textOf(cwd),
      ...(name === null ? {} : { worktree: name === '+' ? true : { worktree_name: name } }),
    },
  };
}

/**
 * Returns the directories of sessions, the most recently active first. In place of a worktree it names
 * its repository, because a worktree belongs to the session that works in it.
 */
export function recentDirectories({ sessions, worktrees }: Overview): string[] {
  const latest = [...sessions.values()]
    .map(({ session }) => session)
    .toSorted((a, b) => b.last_activity_at - a.last_activity_at);
  const directories = latest.map(({ cwd, worktree_id }) =>
    worktree_id === null ? cwd : worktrees.get(worktree_id)?.repo_root,
  );
  return [...new Set(directories.filter((one) => one !== undefined))].slice(0, MAX_DIRECTORIES);
}
