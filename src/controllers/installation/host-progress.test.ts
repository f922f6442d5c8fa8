import { describe, expect, it } from 'vitest';
import { inventoryHost } from '../../../test/support/fake-inventory.ts';
import type { Stage } from '../../model/stage.ts';
import { type HostSigns, mayAskIgnition, nextStage } from './reports.ts';

const signs = (node: HostSigns['node'], hasAskedIgnition = false): HostSigns => ({
  node,
  hasAskedIgnition,
});

const at = (stage: Stage | undefined, status = 'installing-in-progress') =>
  inventoryHost({ status, ...(stage === undefined ? {} : { stage }) });

describe('the next stage of a host', () => {
  it.each<[Stage | undefined, HostSigns['node'], boolean, Stage | undefined]>([
    ['Rebooting', 'none', false, undefined],
    ['Writing image to disk', 'none', true, 'Configuring'],
    ['Rebooting', 'none', true, 'Configuring'],
    ['Configuring', 'none', true, undefined],
    ['Rebooting', 'joined', false, 'Joined'],
    ['Rebooting', 'ready', false, 'Joined'],
    ['Joined', 'joined', true, undefined],
    ['Joined', 'ready', true, 'Done'],
    ['Done', 'ready', true, undefined],
  ])('at %s with node %s and Ignition requested %s: %s', (...row) => {
    const [stage, node, hasAsked, next] = row;
    expect(nextStage(at(stage), signs(node, hasAsked))).toBe(next);
  });

  it.each(['installed', 'error', 'disabled'])(
    'is undefined for a host with status %s',
    (status) => {
      expect(nextStage(at('Rebooting', status), signs('ready', true))).toBeUndefined();
      expect(mayAskIgnition(at('Rebooting', status), 'none')).toBe(false);
    },
  );
});

describe('the log of the config server', () => {
  it.each<[Stage | undefined, HostSigns['node'], boolean]>([
    [undefined, 'none', true],
    ['Rebooting', 'none', true],
    ['Waiting for ignition', 'none', true],
    ['Rebooting', 'joined', false],
    ['Configuring', 'none', false],
    ['Done', 'none', false],
  ])('is needed for a host at %s with node %s: %s', (stage, node, isNeeded) => {
    expect(mayAskIgnition(at(stage), node)).toBe(isNeeded);
  });
});
