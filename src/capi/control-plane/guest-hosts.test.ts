import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import type { BootstrapConfig, Machine } from '../api.ts';
import { nodeReports } from './guest-hosts.ts';
import type { ControlPlaneView } from './view.ts';

const machineOf = (
  more: Partial<Machine['spec']> = {},
  status: Machine['status'] = {},
): Machine => ({
  metadata: { name: 'w0', uid: 'w0' },
  spec: {
    clusterName: 'demo',
    bootstrap: { configRef: { apiGroup: '', kind: '', name: 'w0' } },
    infrastructureRef: { apiGroup: '', kind: '', name: 'w0' },
    ...more,
  },
  status,
});

const configIn = (stage: string): BootstrapConfig => ({
  metadata: { name: 'w0' },
  spec: { agent: { image: 'a' } },
  status: {
    initialization: { dataSecretCreated: true },
    ...(stage === '' ? {} : { progress: { stage, stageStartedAt: '', updatedAt: '', attempt: 1 } }),
  },
});

const viewOf = (
  machine: Machine,
  stage: string,
): Pick<ControlPlaneView, 'allMachines' | 'configs'> => ({
  allMachines: [machine],
  configs: new Map([['w0', configIn(stage)]]),
});

const node = (name: string, isReady: boolean, providerID?: string): KubeObject => ({
  metadata: { name },
  spec: providerID === undefined ? {} : { providerID },
  status: {
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
  },
});

describe('what a node shows of its host', () => {
  it.each<[string, Machine, string, KubeObject, string | undefined]>([
    ['by the name of the Machine', machineOf(), 'Rebooting', node('w0', false), 'Joined'],
    ['once it is ready', machineOf(), 'Joined', node('w0', true), 'Done'],
    ['no more than was known', machineOf(), 'Joined', node('w0', false), undefined],
    ['not while the host itself reports', machineOf(), 'Installing', node('w0', true), undefined],
    ['not of a host that failed', machineOf(), 'Failed', node('w0', true), undefined],
    ['not by another name', machineOf(), 'Rebooting', node('other.test', true), undefined],
    [
      'by the id of its provider',
      machineOf({ providerID: 'lab://w0' }),
      ...(['Rebooting', node('n7', true, 'lab://w0'), 'Done'] as const),
    ],
    [
      'not of a node with the name and another id',
      machineOf({ providerID: 'lab://w0' }),
      ...(['Rebooting', node('w0', true, 'lab://other'), undefined] as const),
    ],
    [
      'by its address',
      machineOf({}, { addresses: [{ type: 'InternalIP', address: '10.0.0.7' }] }),
      ...(['Rebooting', node('n7', true), 'Done'] as const),
    ],
    ['after its status was lost by a move', machineOf(), '', node('w0', true), 'Done'],
  ])('%s', (...[, machine, before, shown, stage]) => {
    const reports = nodeReports(viewOf(machine, before), { nodes: [shown], requests: [] });
    expect(reports.map((one) => one.stage)).toEqual(stage === undefined ? [] : [stage]);
  });

  const addresses = [{ type: 'InternalIP', address: '10.0.0.7' }];
  const other = { name: 'w1', uid: 'w1' };

  it.each<[string, Machine, Partial<Machine>, KubeObject, readonly string[]]>([
    [
      'not of another one whose infrastructure still reports its address',
      machineOf({}, { addresses }),
      ...([{}, node('w1', true), ['w1']] as const),
    ],
    [
      'not of another one with its name, where the provider knows whose it is',
      machineOf({ providerID: 'lab://w0' }),
      ...([
        { status: { addresses: [{ type: 'Hostname', address: 'w0' }] } },
        ...([node('w0', true, 'lab://w0'), ['w0']] as const),
      ] as const),
    ],
    [
      'of none where two report its address',
      machineOf({}, { addresses }),
      ...([{ status: { addresses } }, node('n7', true), []] as const),
    ],
    [
      'of the one that stays where two report its address',
      machineOf({}, { addresses }),
      ...([
        { status: { addresses }, metadata: { ...other, deletionTimestamp: 'now' } as never },
        ...([node('n7', true), ['w0']] as const),
      ] as const),
    ],
  ])('%s', (...[, machine, more, shown, hosts]) => {
    const config = { ...configIn('Rebooting'), metadata: { name: 'w1' } };
    const view = viewOf(machine, 'Rebooting');
    const second: Machine = { ...machineOf(), metadata: other, ...more };
    const spec = {
      ...second.spec,
      bootstrap: { configRef: { apiGroup: '', kind: '', name: 'w1' } },
    };
    const both = {
      ...view,
      allMachines: [machine, { ...second, spec }],
      configs: new Map([...view.configs, ['w1', config]]),
    };
    const reports = nodeReports(both, { nodes: [shown], requests: [] });
    expect(reports.map(({ config: { metadata } }) => metadata.name)).toEqual(hosts);
  });
});
