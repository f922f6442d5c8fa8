import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { machineOf, type ShownHost } from '../../../test/support/capi-world.ts';
import type { BootstrapConfig } from '../api.ts';
import { nodeReports } from './guest-hosts.ts';

interface Host extends ShownHost {
  readonly name?: string;
  /** Empty before its first report. */
  readonly stage?: string;
}

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
  const view = { allMachines: hosts.map((host) => machineOf(host.name ?? 'w0', host)), configs };
  const reports = nodeReports(view, [shown]);
  return reports.map(({ config, stage }) => `${config.metadata.name} ${stage}`);
};

const address = '10.0.0.7';

describe('nodeReports', () => {
  it.each([
    ['reports Joined for a node with the name of the Machine', {}, node('w0', false), 'Joined'],
    ['reports Done once the node is Ready', { stage: 'Joined' }, node('w0', true), 'Done'],
    ['does not repeat a known stage', { stage: 'Joined' }, node('w0', false), undefined],
    [
      'does not report a host that still reports itself',
      { stage: 'Installing' },
      node('w0', true),
      undefined,
    ],
    ['does not report a failed host', { stage: 'Failed' }, node('w0', true), undefined],
    ['does not match a node with another name', {}, node('other.test', true), undefined],
    ['matches the provider ID', { providerID: 'lab://w0' }, node('n7', true, 'lab://w0'), 'Done'],
    [
      'does not match a node with the right name and another provider ID',
      { providerID: 'lab://w0' },
      node('w0', true, 'lab://other'),
      undefined,
    ],
    ['matches the address', { reports: [address] }, node('n7', true), 'Done'],
    ['reports a host that lost its status in a move', { stage: '' }, node('w0', true), 'Done'],
  ])('%s', (...[, host, shown, stage]) => {
    expect(reported([host], shown)).toEqual(stage === undefined ? [] : [`w0 ${stage}`]);
  });

  it.each<[string, Host, Host, KubeObject, readonly string[]]>([
    [
      'prefers the node name over an address that another host still reports',
      { reports: [address] },
      {},
      node('w1', true),
      ['w1 Done'],
    ],
    [
      'prefers the provider ID over a name that another host reports',
      { providerID: 'lab://w0' },
      { reports: ['w0'] },
      node('w0', true, 'lab://w0'),
      ['w0 Done'],
    ],
    [
      'matches no host when two report the address',
      { reports: [address] },
      { reports: [address] },
      node('n7', true),
      [],
    ],
    [
      'ignores a Machine that is being deleted when two report the address',
      { reports: [address] },
      { reports: [address], isDeleting: true },
      node('n7', true),
      ['w0 Done'],
    ],
  ])('%s', (...[, first, second, shown, expected]) => {
    expect(reported([first, { ...second, name: 'w1' }], shown)).toEqual(expected);
  });
});
