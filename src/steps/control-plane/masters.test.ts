import { describe, expect, it } from 'vitest';
import { inventoryHost } from '../../../test/support/fake-inventory.ts';
import { lookAtControlPlane } from './masters.ts';

const host = (name: string, stage?: string, role = 'master') =>
  inventoryHost({ name, role, ...(stage === undefined ? {} : { stage }) });

describe('a look at the control plane', () => {
  it.each([
    ['two masters', [host('m1', 'Done'), host('m2', 'Done'), host('m3', 'Joined')], true],
    ['a master and an arbiter', [host('m1', 'Done'), host('a1', 'Done', 'arbiter')], true],
    ['one master', [host('m1', 'Done'), host('m2', 'Joined')], false],
    ['nobody', [], false],
  ])('with %s done', (_, hosts, isReady) => {
    expect(lookAtControlPlane(hosts).isReady).toBe(isReady);
  });

  it.each([
    [[host('m1', 'Done'), host('m2', 'Joined')], '1 of 2 masters are done: m2 is Joined'],
    [
      [host('m2', 'Rebooting'), host('m1', 'Configuring')],
      '0 of 2 masters are done: m1 is Configuring, m2 is Rebooting',
    ],
    [[host('', undefined)], '0 of 2 masters are done: host-1 is installing-in-progress'],
    [[host('m1', 'Done')], '1 of 2 masters are done: no other master is known'],
  ])('says what is missing', (hosts, status) => {
    expect(lookAtControlPlane(hosts).status).toBe(status);
  });
});
