import { describe, expect, it } from 'vitest';
import { minutes } from '../../model/duration.ts';
import { type OwnNodeSnapshot, type OwnRequest, statusOfOwnNode } from './own-node.ts';

const client = (state: OwnRequest['state']): OwnRequest => ({
  name: 'c',
  purpose: 'client',
  state,
});
const serving = (state: OwnRequest['state'], reason?: string): OwnRequest => ({
  name: 's',
  purpose: 'serving',
  state,
  ...(reason === undefined ? {} : { reason }),
});
const ready = { isReady: true } as const;
const notReady = { isReady: false, reason: 'container network is not ready' } as const;

const statusOf = (snapshot: Partial<OwnNodeSnapshot>) =>
  statusOfOwnNode({ node: 'm0', readiness: undefined, readyFor: 0, requests: [], ...snapshot });

describe('the standing of the own node', () => {
  it.each<[Partial<OwnNodeSnapshot>, string]>([
    [{}, 'm0 has not joined and has not asked for a client certificate'],
    [{ requests: [client('approved')] }, 'm0 has not joined and has a client certificate'],
    [{ readiness: notReady }, 'm0 has joined and is not Ready: container network is not ready'],
    [{ readiness: ready }, 'm0 is Ready and waits for a serving certificate'],
    [
      { readiness: ready, requests: [serving('pending', 'it asks for no address')] },
      'm0 is Ready and waits for a serving certificate; certificate request s is not approved: it asks for no address',
    ],
  ])('says what is missing', (snapshot, status) => {
    expect(statusOf(snapshot)).toEqual({ isDone: false, status });
  });

  it.each<[string, boolean, Partial<OwnNodeSnapshot>]>([
    [
      'Ready with a serving certificate',
      true,
      { readiness: ready, requests: [serving('approved')] },
    ],
    ['Ready for ten minutes', true, { readiness: ready, readyFor: minutes(10) }],
    ['Ready for nine minutes', false, { readiness: ready, readyFor: minutes(9) }],
    [
      'Ready for long with a request that nobody approves',
      false,
      { readiness: ready, readyFor: minutes(99), requests: [serving('pending', 'x')] },
    ],
    [
      'Ready for long with a request that was denied',
      true,
      { readiness: ready, readyFor: minutes(99), requests: [serving('denied')] },
    ],
    [
      'not Ready, with a serving certificate',
      false,
      { readiness: notReady, requests: [serving('approved')] },
    ],
    ['gone', false, { requests: [client('approved'), serving('approved')] }],
  ])('%s: done is %s', (_, isDone, snapshot) => {
    expect(statusOf(snapshot).isDone).toBe(isDone);
  });
});
