import { describe, expect, it } from 'vitest';
import { inventoryHost } from '../../test/support/fake-inventory.ts';
import { lookAtWorkers } from './worker-look.ts';

const worker = (stage?: string, status = 'installing-in-progress') =>
  inventoryHost({ name: 'w1', role: 'worker', status, ...(stage === undefined ? {} : { stage }) });

describe('a worker that has left its host', () => {
  it.each([
    ['Rebooting', true],
    ['Waiting for ignition', true],
    ['Configuring', true],
    ['Joined', true],
    ['Done', true],
    ['Failed', true],
    ['Starting installation', false],
    ['Installing', false],
    ['Writing image to disk', false],
    ['Waiting for control plane', false],
    ['A stage of next year', false],
    [undefined, false],
  ])('is one in stage %s: %s', (stage, isDone) => {
    expect(lookAtWorkers([worker(stage)]).isDone).toBe(isDone);
  });

  it.each(['error', 'cancelled', 'disabled', 'installed'])('is one that is %s', (status) => {
    expect(lookAtWorkers([worker('Installing', status)]).isDone).toBe(true);
  });
});

it('names the workers that are waited for', () => {
  const unnamed = inventoryHost({ name: '', id: 'h9', role: 'worker', status: 'installing' });
  expect(lookAtWorkers([worker('Writing image to disk'), worker('Done'), unnamed])).toEqual({
    isDone: false,
    status: '1 of 3 workers left their host; h9 is installing; w1 is Writing image to disk',
  });
});

it('waits for nobody where there are none', () => {
  expect(lookAtWorkers([]).isDone).toBe(true);
});
