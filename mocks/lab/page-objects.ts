import { conditionOf } from '../../src/kube/object.ts';
import type { Tone } from '../../src/page/state.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { KindName } from '../cluster/objects.ts';

/** Kinds on the page, in the order of its headings. */
export const shownKinds = [
  'Node',
  'ClusterVersion',
  'ClusterOperator',
  'MachineConfigPool',
  'MachineOSConfig',
  'MachineOSBuild',
  'CertificateSigningRequest',
  'MachineConfig',
] as const satisfies readonly KindName[];
export type ShownKind = (typeof shownKinds)[number];

interface Shown {
  readonly state: string;
  readonly tone: Tone;
}

/** The state of an object, for people. */
export function stateOf(kind: ShownKind, object: KubeObject): Shown {
  const { status = {}, spec = {} } = object as {
    readonly status?: Readonly<Record<string, unknown>>;
    readonly spec?: Readonly<Record<string, unknown>>;
  };
  const is = (type: string): boolean => conditionOf(object, type).status === 'True';
  const why = (type: string): string => {
    const { message, reason } = conditionOf(object, type);
    return message || reason;
  };
  return states[kind]({ status, spec, is, why });
}

interface Facts {
  readonly status: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Whether a condition is True. */
  readonly is: (type: string) => boolean;
  readonly why: (type: string) => string;
}

const good = (state: string): Shown => ({ state, tone: 'good' });
const busy = (state: string): Shown => ({ state, tone: 'busy' });
const waiting = (state: string): Shown => ({ state, tone: 'waiting' });
const bad = (state: string): Shown => ({ state, tone: 'bad' });

const joined = (...texts: readonly string[]): string =>
  texts.filter((text) => text !== '').join(': ');

const states: Readonly<Record<ShownKind, (facts: Facts) => Shown>> = {
  Node: ({ is, why }) => (is('Ready') ? good('Ready') : waiting(joined('NotReady', why('Ready')))),
  ClusterVersion: operatorState,
  ClusterOperator: operatorState,
  MachineConfigPool: ({ is, status, spec }) => {
    const all = Number(status['machineCount'] ?? 0);
    const updated = Number(status['updatedMachineCount'] ?? 0);
    const counts = all === 0 ? 'no machines yet' : `${updated} of ${all} updated`;
    const text = `${counts}${spec['paused'] === true ? ', paused' : ''}`;
    if (is('Degraded')) return bad(joined('Degraded', text));
    return is('Updated') ? good(text) : busy(text);
  },
  MachineOSConfig: ({ status }) =>
    typeof status['currentImagePullSpec'] === 'string'
      ? good('has its image')
      : waiting('no image yet'),
  MachineOSBuild: ({ is, why }) => {
    if (is('Succeeded')) return good('Succeeded');
    if (is('Failed') || is('Interrupted')) return bad(joined('Failed', why('Failed')));
    return is('Building') ? busy('Building') : waiting('Prepared');
  },
  CertificateSigningRequest: ({ is, status }) => {
    if (is('Denied')) return bad('Denied');
    if (!is('Approved')) return waiting('Pending');
    return good(status['certificate'] === undefined ? 'Approved' : 'Issued');
  },
  MachineConfig: () => good('exists'),
};

function operatorState({ is, why }: Facts): Shown {
  if (is('Degraded')) return bad(joined('Degraded', why('Degraded')));
  if (is('Progressing')) return busy(joined('Progressing', why('Progressing')));
  return is('Available') ? good('Available') : waiting(joined('not available', why('Available')));
}
