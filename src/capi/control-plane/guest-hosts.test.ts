import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import type { BootstrapConfig, Machine } from '../api.ts';
import { nodeReports } from './guest-hosts.ts';

interface Host {
  readonly name?: string;
  readonly id?: string;
  /** Names and addresses that the host's infrastructure reports. */
  readonly reports?: readonly string[];
  readonly isDeleting?: true;
  /** Empty before its first report. */
  readonly stage?: string;
}

const machineOf = ({ name = 'w0', id, reports = [], isDeleting }: Host): Machine => ({
  metadata: { name, uid: name, ...(isDeleting && { deletionTimestamp: 'now' }) },
  spec: {
    clusterName: 'demo',
    bootstrap: { configRef: { apiGroup: '', kind: '', name } },
    infrastructureRef: { apiGroup: '', kind: '', name },
    ...(id !== undefined && { providerID: id }),
  },
  status: {
    addresses: reports.map((address) => ({
      type: address.includes('.') ? 'InternalIP' : 'Hostname',
      address,
    })),
  },
});

const configOf = ({ name = 'w0', stage = 'Rebooting' }: Host): BootstrapConfig => ({
  metadata: { name },
  spec: { agent: { image: 'a' } },
  status: {
    initialization: { dataSecretCreated: true },
    ...(stage !== '' && { progress: { stage, stageStartedAt: '', updatedAt: '', attempt: 1 } }),
  },
});

const node = (name: string, isReady: boolean, providerID?: string): KubeObject => ({
  metadata: { name },
  spec: providerID === undefined ? {} : { providerID },
  status: {
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
  },
});

const reported = (hosts: readonly Host[], shown: KubeObject): readonly string[] => {
  const configs = new Map(hosts.map((host) => [host.name ?? 'w0', configOf(host)]));
  const view = { allMachines: hosts.map(machineOf), configs };
  const reports = nodeReports(view, [shown]);
  return reports.map(({ config, stage }) => `${config.metadata.name} ${stage}`);
};

const address = '10.0.0.7';

describe('what a node shows of its host', () => {
  it.each<[string, Host, KubeObject, string | undefined]>([
    ['by the name of the Machine', {}, node('w0', false), 'Joined'],
    ['once it is ready', { stage: 'Joined' }, node('w0', true), 'Done'],
    ['no more than was known', { stage: 'Joined' }, node('w0', false), undefined],
    ['not while the host itself reports', { stage: 'Installing' }, node('w0', true), undefined],
    ['not of a host that failed', { stage: 'Failed' }, node('w0', true), undefined],
    ['not by another name', {}, node('other.test', true), undefined],
    ['by the id of its provider', { id: 'lab://w0' }, node('n7', true, 'lab://w0'), 'Done'],
    [
      'not of a node with the name and another id',
      { id: 'lab://w0' },
      node('w0', true, 'lab://other'),
      undefined,
    ],
    ['by its address', { reports: [address] }, node('n7', true), 'Done'],
    ['after its status was lost by a move', { stage: '' }, node('w0', true), 'Done'],
  ])('%s', (...[, host, shown, stage]) => {
    expect(reported([host], shown)).toEqual(stage === undefined ? [] : [`w0 ${stage}`]);
  });

  it.each<[string, Host, Host, KubeObject, readonly string[]]>([
    [
      'not of another one whose infrastructure still reports its address',
      { reports: [address] },
      {},
      node('w1', true),
      ['w1 Done'],
    ],
    [
      'not of another one with its name, where the provider knows whose it is',
      { id: 'lab://w0' },
      { reports: ['w0'] },
      node('w0', true, 'lab://w0'),
      ['w0 Done'],
    ],
    [
      'of none where two report its address',
      { reports: [address] },
      { reports: [address] },
      node('n7', true),
      [],
    ],
    [
      'of the one that stays where two report its address',
      { reports: [address] },
      { reports: [address], isDeleting: true },
      node('n7', true),
      ['w0 Done'],
    ],
  ])('%s', (...[, first, second, shown, expected]) => {
    expect(reported([first, { ...second, name: 'w1' }], shown)).toEqual(expected);
  });
});
