import type { UntypedEvent } from '../../support/untyped-events.ts';
import { processesOf, SERVER, TEAM } from './state.ts';

type Fields = Record<string, unknown>;

/** The names that the model gives to the records of a program, by their ids. They follow from the order of the events. */
export class Names {
  readonly #names = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  set(id: string, name: string): void {
    this.#names.set(id, name);
    this.#ids.set(name, id);
  }

  of(id: unknown): string {
    return this.#names.get(String(id)) ?? '?';
  }

  /** Returns the last part of a name, which is unique within its session. */
  short(id: unknown): string {
    return id === null ? '-' : (this.of(id).split('.').at(-1) ?? '?');
  }

  has(id: unknown): boolean {
    return this.#names.has(String(id));
  }

  /** Replaces names in braces by ids. */
  fill(text: string): string {
    return text.replaceAll(
      /\{([A-Za-z][\w.>]*)\}/g,
      (_, name: string) => this.#ids.get(name) ?? name,
    );
  }

  /** Names the records that an event shows first. */
  learn({ kind, session_id, turn_id, payload }: UntypedEvent): void {
    const next = (letter: string) => {
      const key = `${String(session_id)} ${letter}`;
      const count = (this.#counts.get(key) ?? 0) + 1;
      this.#counts.set(key, count);
      return `${this.of(session_id)}.${letter}${count}`;
    };
    if (kind === 'turn.accepted') this.set(String(turn_id), next('t'));
    if (kind === 'approval.requested') this.set(idIn(payload, 'approval'), next('a'));
    if (kind === 'process.queued') this.set(idIn(payload, 'process', 'process_id'), next('p'));
    if (kind === 'queue.added') this.set(idIn(payload, 'entry'), next('q'));
    if (kind === 'team.message_created') {
      const count = (this.#counts.get('m') ?? 0) + 1;
      this.#counts.set('m', count);
      this.set(idIn(payload, 'message'), `m${count}`);
    }
    if (kind === 'delivery.pending') {
      const { id, message_id, recipient_agent_id } = fieldsIn(payload, 'delivery');
      this.set(String(id), `${this.of(message_id)}>${this.of(recipient_agent_id)}`);
    }
  }

  /** Returns the session, team or server that an event is about; null for an event of another program. */
  scopeOf({ session_id, team_id, process_id, kind }: UntypedEvent): string | null {
    if (process_id !== null) return this.has(session_id) ? processesOf(this.of(session_id)) : null;
    if (session_id !== null) return this.has(session_id) ? this.of(session_id) : null;
    if (team_id !== null) return this.has(team_id) ? TEAM : null;
    return kind.startsWith('runtime.') ? SERVER : null;
  }

  /** Returns an event as the model writes it; null for output, which the model leaves out. */
  textOf({ kind, turn_id, payload }: UntypedEvent): string | null {
    const [group] = kind.split('.');
    const turn = this.short(turn_id);
    const error = (fields: Fields) => (fields.error as { code: string } | null)?.code ?? '-';
    switch (group) {
      case 'session': {
        if (kind === 'session.notice') return `${kind} ${String(payload.code)} ${turn}`;
        return `${kind} ${String(fieldsIn(payload, 'session').status)}`;
      }
      case 'turn': {
        const fields = fieldsIn(payload, 'turn');
        if (kind === 'turn.accepted') return `${kind} ${turn} ${String(fields.source)}`;
        const isEnd = fields.ended_at !== null && fields.ended_at !== undefined;
        return isEnd ? `${kind} ${turn} ${error(fields)}` : `${kind} ${turn}`;
      }
      case 'approval': {
        const { id, status } = fieldsIn(payload, 'approval');
        const about = kind === 'approval.requested' ? turn : String(status);
        return `${kind} ${this.short(id)} ${about}`;
      }
      case 'delivery': {
        const fields = fieldsIn(payload, 'delivery');
        const { id, injected_turn_id } = fields;
        return `${kind} ${this.of(id)} ${this.short(injected_turn_id)} ${error(fields)}`;
      }
      case 'queue':
        return `${kind} ${this.#queued(kind, payload)}`;
      case 'team':
        return this.#ofTeam(kind, payload);
      case 'tool': {
        if (kind === 'tool.updated') return null;
        return kind === 'tool.started'
          ? `${kind} ${turn}`
          : `${kind} ${turn} ${String(payload.status)}`;
      }
      case 'process': {
        if (kind === 'process.output') return null;
        const { process_id, exit_code } = fieldsIn(payload, 'process');
        const code = typeof exit_code === 'number' ? ` ${exit_code}` : '';
        return `${kind} ${this.short(process_id)}${code}`;
      }
      case 'budget':
        return kind;
      case 'runtime':
        return kind === 'runtime.started' ? `${kind} ${String(payload.previous_stop)}` : kind;
      default:
        return null;
    }
  }

  #queued(kind: string, payload: Fields): string {
    if (payload.hold !== undefined) return String(fieldsIn(payload, 'hold').code);
    const { id, status } = fieldsIn(payload, 'entry');
    const more = { 'queue.removed': payload.why, 'queue.finished': payload.status }[kind];
    return `${this.short(id)} ${String(more ?? status)}`;
  }

  #ofTeam(kind: string, payload: Fields): string {
    if (kind.startsWith('team.message'))
      return `${kind} ${this.of(fieldsIn(payload, 'message').id)}`;
    if (kind.startsWith('team.member'))
      return `${kind} ${this.of(fieldsIn(payload, 'member').agent_id)}`;
    if (kind === 'team.lead_changed')
      return `${kind} ${this.of(fieldsIn(payload, 'team').lead_agent_id)}`;
    return kind;
  }
}

function fieldsIn(payload: Fields, name: string): Fields {
  return (payload[name] as Fields | undefined) ?? {};
}

function idIn(payload: Fields, name: string, field = 'id'): string {
  return String(fieldsIn(payload, name)[field]);
}
