import { describe, expect, it } from 'vitest';
import { eventFields, isControllerReady, runningController } from './controller.ts';

const pod = (name: string, phase?: string) => ({ metadata: { name }, status: { phase } });

describe('the controller', () => {
  it('is ready by the name of an event, not by its reason', () => {
    const named = { metadata: { name: 'AssistedControllerIsReady' } };
    const reasoned = { metadata: { name: 'x.17a' }, reason: 'AssistedControllerIsReady' };
    expect(isControllerReady([reasoned])).toBe(false);
    expect(isControllerReady([reasoned, named])).toBe(true);
  });

  it.each([
    ['no pod', [], undefined],
    ['a pod of another name', [pod('other', 'Running')], undefined],
    ['a pod that waits', [pod('assisted-installer-controller-x', 'Pending')], undefined],
    [
      'a pod without a status',
      [{ metadata: { name: 'assisted-installer-controller-x' } }],
      undefined,
    ],
    ['a running pod', [pod('assisted-installer-controller-x', 'Running')], 'Running'],
    [
      'an ended pod before a running one',
      [
        pod('assisted-installer-controller-a', 'Failed'),
        pod('assisted-installer-controller-b', 'Running'),
      ],
      undefined,
    ],
  ])('has a log with %s: %s', (_, pods, phase) => {
    const found = runningController(pods);
    expect(found === undefined ? undefined : phase).toBe(phase);
    expect(found === undefined).toBe(phase === undefined);
  });

  it('says in an event only what is there', () => {
    const event = {
      metadata: { name: 'e' },
      type: 'Warning',
      reason: '',
      message: 'text',
      count: 3,
    };
    expect(eventFields(event)).toEqual({ type: 'Warning', message: 'text' });
  });
});
