import { describe, expect, it } from 'vitest';
import { inventoryHost } from '../../test/support/fake-inventory.ts';
import { type Stage, stages } from '../model/stage.ts';
import {
  type AnsweredReport,
  type HostSigns,
  mayAskIgnition,
  nextStage,
  recordOf,
} from './host-progress.ts';

const signs = (node: HostSigns['node'], hasAskedIgnition = false): HostSigns => ({
  node,
  hasAskedIgnition,
});

const at = (stage: Stage | undefined, status = 'installing-in-progress') =>
  inventoryHost({ status, ...(stage === undefined ? {} : { stage }) });

describe('the next stage of a host', () => {
  it.each<[Stage | undefined, HostSigns['node'], boolean, Stage | undefined]>([
    [undefined, 'none', false, undefined],
    ['Rebooting', 'none', false, undefined],
    ['Writing image to disk', 'none', true, 'Configuring'],
    ['Rebooting', 'none', true, 'Configuring'],
    ['Waiting for ignition', 'none', true, 'Configuring'],
    ['Configuring', 'none', true, undefined],
    ['Rebooting', 'joined', false, 'Joined'],
    ['Configuring', 'joined', true, 'Joined'],
    ['Waiting for ignition', 'joined', false, 'Joined'],
    ['Rebooting', 'ready', false, 'Joined'],
    ['Configuring', 'ready', true, 'Joined'],
    ['Joined', 'joined', true, undefined],
    ['Joined', 'ready', true, 'Done'],
    ['Done', 'ready', true, undefined],
    ['Done', 'joined', true, undefined],
    ['Done', 'none', true, undefined],
  ])('at %s with its node %s, Ignition asked %s: %s', (...row) => {
    const [stage, node, hasAsked, next] = row;
    expect(nextStage(at(stage), signs(node, hasAsked))).toBe(next);
  });

  it('is never one that the host has reached, whatever the cluster shows', () => {
    for (const stage of stages) {
      for (const node of ['none', 'joined', 'ready'] as const) {
        const next = nextStage(at(stage), signs(node, true));
        if (next !== undefined) expect(stages.indexOf(next)).toBeGreaterThan(stages.indexOf(stage));
      }
    }
  });

  it.each(['installed', 'error', 'disabled'])('is none for a host that is %s', (status) => {
    expect(nextStage(at('Rebooting', status), signs('ready', true))).toBeUndefined();
    expect(mayAskIgnition(at('Rebooting', status), 'none')).toBe(false);
  });

  it('follows what the service has taken, before it shows it', () => {
    const answered: AnsweredReport = { stage: 'Joined' };
    expect(nextStage(at('Configuring'), signs('joined'), answered)).toBeUndefined();
    expect(nextStage(at('Configuring'), signs('ready'), answered)).toBe('Done');
    expect(nextStage(at('Joined'), signs('ready'), { stage: 'Done' })).toBeUndefined();
  });

  it('takes a refusal for an answer until the service has something else of the host', () => {
    const host = at('Joined', 'installing-pending-user-action');
    const refused: AnsweredReport = { stage: 'Done', refusedAt: recordOf(host) };
    expect(nextStage(host, signs('ready'), refused)).toBeUndefined();
    expect(nextStage(at('Joined'), signs('ready'), refused)).toBe('Done');
  });
});

describe('the log of the config server', () => {
  it.each<[Stage | undefined, HostSigns['node'], boolean]>([
    [undefined, 'none', true],
    ['Rebooting', 'none', true],
    ['Waiting for ignition', 'none', true],
    ['Rebooting', 'joined', false],
    ['Configuring', 'none', false],
    ['Done', 'none', false],
  ])('is of use for a host at %s with its node %s: %s', (stage, node, isOfUse) => {
    expect(mayAskIgnition(at(stage), node)).toBe(isOfUse);
  });
});
