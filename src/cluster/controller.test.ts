import { describe, expect, it } from 'vitest';
import {
  controllerObstacle,
  eventFields,
  isControllerReady,
  runningController,
  clusterProxies,
} from './controller.ts';

const pod = (name: string, phase?: string) => ({ metadata: { name }, status: { phase } });

describe('the controller', () => {
  it('is ready when an event has the name, not the reason, AssistedControllerIsReady', () => {
    const named = { metadata: { name: 'AssistedControllerIsReady' } };
    const reasoned = { metadata: { name: 'x.17a' }, reason: 'AssistedControllerIsReady' };
    expect(isControllerReady([reasoned])).toBe(false);
    expect(isControllerReady([reasoned, named])).toBe(true);
  });

  it.each([
    ['a pending pod', [pod('assisted-installer-controller-x', 'Pending')], undefined],
    [
      'a running pod',
      [pod('other', 'Running'), pod('assisted-installer-controller-x', 'Running')],
      'assisted-installer-controller-x',
    ],
    [
      'an ended pod before a running one',
      [
        pod('assisted-installer-controller-a', 'Failed'),
        pod('assisted-installer-controller-b', 'Running'),
      ],
      undefined,
    ],
  ])('finds a running pod with %s: %s', (_, pods, name) => {
    expect(runningController(pods)?.metadata.name).toBe(name);
  });

  it('keeps only the text fields of an event that are set', () => {
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

describe('the reason why the controller does not run', () => {
  const container = (reason: string | undefined, restartCount = 0) => ({
    image: 'quay.test/controller:1',
    restartCount,
    state: reason === undefined ? { running: {} } : { waiting: { reason } },
  });
  const unpulled = 'the image of the controller cannot be pulled: quay.test/controller:1';
  const crashed = 'the controller ended with an error and was started again';

  it.each([
    ['ErrImagePull', unpulled],
    ['ImagePullBackOff', unpulled],
    ['RegistryUnavailable', unpulled],
    ['CreateContainerConfigError', 'the controller cannot be started (CreateContainerConfigError)'],
    ['ContainerCreating', undefined],
    [undefined, undefined],
  ])('with a container in state %s: %s', (reason, obstacle) => {
    const status = { phase: 'Pending', containerStatuses: [container(reason)] };
    expect(controllerObstacle([{ metadata: { name: 'c' }, status }])).toBe(obstacle);
  });

  it.each(['CrashLoopBackOff', 'ContainerCreating', undefined])(
    'is a crash after restarts, with the container in state %s',
    (reason) => {
      const status = { phase: 'Running', containerStatuses: [container(reason, 3)] };
      expect(controllerObstacle([{ metadata: { name: 'c' }, status }])).toBe(crashed);
    },
  );

  it('is that the scheduler finds no node for the pod', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    const waiting = { metadata: { name: 'c' }, status: { phase: 'Pending', conditions } };
    expect(controllerObstacle([waiting])).toBe('no node takes the pod of the controller');
  });

  it('is undefined for an ended pod, for a pod without a status and without a pod', () => {
    const ended = { phase: 'Failed', containerStatuses: [container('ErrImagePull')] };
    const all = [{ metadata: { name: 'a' }, status: ended }, { metadata: { name: 'b' } }];
    expect(controllerObstacle(all)).toBeUndefined();
    expect(controllerObstacle([])).toBeUndefined();
  });
});

const environment = { http: 'http://own:1', https: '', no: '.own' };
const metadata = { name: 'cluster' };

it.each([
  ['no Proxy object', undefined, environment],
  ['no status', { metadata }, environment],
  ['an empty status', { metadata, status: {} }, environment],
  [
    'some fields set',
    { metadata, status: { httpsProxy: 'http://p:2', noProxy: '.svc,10.0.0.0/16' } },
    { http: 'http://own:1', https: 'http://p:2', no: '.svc,10.0.0.0/16' },
  ],
  [
    'a field that is not text',
    { metadata, status: { httpProxy: 7, noProxy: '.svc' } },
    { http: 'http://own:1', https: '', no: '.svc' },
  ],
])('reads the proxies of a cluster with %s', (_, proxy, expected) => {
  expect(clusterProxies(proxy, environment)).toEqual(expected);
});
