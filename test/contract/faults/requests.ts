// Outcomes of each kind of the product's requests when the server or the network is faulty.
// requests.test.ts runs each cell over the wire.
import { type Millis, minutes } from '../../../src/model/duration.ts';

/** All faults, with the behaviour of the server or the network at each attempt. */
export const faults = {
  refused: 'nobody listens',
  reset: 'an answer of 200 that is reset in the middle of its body',
  stall: 'the request is taken and never answered',
  '401': 'status 401',
  '404': 'status 404',
  '409': 'status 409',
  '429': 'status 429 with `Retry-After: 30`',
  '503': 'status 503',
  HTML: 'status 200 and the page of a login',
  endless: 'a body that never ends',
  'endless 400': 'status 400 with a compressed body that never ends',
  'slow 400': 'status 400 with a body of which a byte comes now and then',
} as const;

/** The name of a fault. */
export type Fault = keyof typeof faults;

/** The outcome of a request. */
export interface Ending {
  /** Code of the failure; undefined on success. */
  readonly code?: string;
  /** Number of attempts; `limit`: until the limit of the call, `on`: until the follower stops. */
  readonly attempts: number | 'limit' | 'on';
  /** Words of the failure's message that name the cause. */
  readonly says?: string;
  /** The call gives up without a failure: the reporter of the run sends it again. */
  readonly isLeft?: true;
  /** Details that code and attempts do not show. */
  readonly note?: string;
}

/** Requests with the same outcomes. */
export interface RequestKind {
  readonly names: readonly string[];
  /** Limit of a call with its retries; undefined for a follower. */
  readonly limit?: Millis;
  readonly endings: Readonly<Record<Fault, Ending>>;
}

type Times = Ending['attempts'];

const fails = (code: string, attempts: Times, says: string): Ending => ({ code, attempts, says });
const works = (note: string, attempts: Times = 1): Ending => ({ attempts, note });

const isRead = works('the status is the answer; the body is of no interest');
const passedOn = works('the body is passed on; whoever reads it checks it and stops at a size');
const isCut: Ending = {
  ...fails('web.cut', 1, 'connection reset'),
  note: 'while the body is read; what has come so far is with whoever reads it',
};

const unreachable = (attempts: Times) => ({
  refused: fails('inventory.unreachable', attempts, 'connection refused'),
  stall: fails('inventory.unreachable', attempts, 'did not answer in time'),
  '429': fails('inventory.unreachable', attempts, 'answered 429'),
  '503': fails('inventory.unreachable', attempts, 'answered 503'),
  'endless 400': fails('inventory.rejected', 1, 'answered 400'),
  'slow 400': fails('inventory.rejected', 1, 'answered 400: xx'),
});

const refusals = (missing: number) => ({
  '401': fails('inventory.denied', 1, 'answered 401'),
  '404': fails('inventory.not-found', missing, 'answered 404'),
  '409': fails('inventory.refused', 1, 'answered 409'),
});

const answersUnread = {
  reset: isRead,
  HTML: isRead,
  endless: isRead,
};

const records = (attempts: Times) => ({
  reset: fails('inventory.unreachable', attempts, 'connection reset'),
  HTML: fails('inventory.unreadable', 1, 'cannot be parsed'),
  endless: fails('inventory.unreadable', 1, 'is longer than 16 MiB'),
});

const files = {
  reset: isCut,
  HTML: passedOn,
  endless: passedOn,
};

const kubeFaults = (times: 'limit' | 'on') => ({
  refused: fails('kube.unreachable', times, 'connection refused'),
  reset: fails('kube.unreachable', times, 'connection reset'),
  stall: fails('kube.unreachable', times, 'did not answer in time'),
  '401': {
    ...fails('kube.denied', times, 'answered 401'),
    note: 'newer credentials are looked for',
  },
  '429': fails('kube.busy', times, 'answered 429'),
  '503': fails('kube.failed', times, 'answered 503'),
  HTML: fails('kube.failed', times, 'not what was asked for'),
  endless: fails('kube.failed', times, 'is longer than 96 MiB'),
  'endless 400': fails('kube.invalid', times === 'on' ? 'on' : 1, 'answered 400'),
  'slow 400': fails('kube.invalid', times === 'on' ? 'on' : 1, 'answered 400: xx'),
});

const kubeLimit = minutes(1);
const conflict = fails('kube.conflict', 1, 'answered 409');
const relisted = works('a list each second stands for the watch', 'on');

/** All kinds of the product's requests. */
export const requestKinds: readonly RequestKind[] = [
  {
    names: ['report'],
    limit: minutes(2),
    endings: { ...unreachable(1), ...refusals(11), ...answersUnread },
  },
  {
    names: ['state of logs', 'stage of finalizing'],
    limit: minutes(2),
    endings: { ...unreachable('limit'), ...refusals(11), ...answersUnread },
  },
  {
    names: ['upload of the logs of the controller'],
    limit: minutes(10),
    endings: { ...unreachable('limit'), ...refusals(11), ...answersUnread },
  },
  {
    names: ['cluster', 'cluster that is followed', 'hosts of a role'],
    limit: minutes(1),
    endings: { ...unreachable(1), ...refusals(1), ...records(1) },
  },
  {
    names: ['operators that are monitored'],
    limit: minutes(2),
    endings: { ...unreachable('limit'), ...refusals(11), ...records('limit') },
  },
  {
    names: ['enabled hosts'],
    limit: minutes(10),
    endings: { ...unreachable('limit'), ...refusals(11), ...records('limit') },
  },
  {
    names: ['Ignition of the host'],
    limit: minutes(10),
    endings: { ...unreachable('limit'), ...refusals(11), ...files },
  },
  {
    names: ['download of a URL: image, stream metadata, Ignition'],
    limit: minutes(10),
    endings: {
      refused: fails('web.unreachable', 'limit', 'connection refused'),
      stall: fails('web.unreachable', 'limit', 'did not answer in time'),
      '401': fails('web.refused', 1, 'answered 401'),
      '404': fails('web.refused', 1, 'answered 404'),
      '409': fails('web.refused', 1, 'answered 409'),
      '429': fails('web.unreachable', 'limit', 'answered 429'),
      '503': fails('web.unreachable', 'limit', 'answered 503'),
      'endless 400': fails('web.refused', 1, 'answered 400'),
      'slow 400': fails('web.refused', 1, 'answered 400'),
      ...files,
    },
  },
  {
    names: ['object of a store'],
    limit: minutes(10),
    endings: {
      refused: fails('objects.unreachable', 'limit', 'connection refused'),
      stall: fails('objects.unreachable', 'limit', 'did not answer in time'),
      '401': fails('objects.denied', 1, 'answered 401'),
      '404': fails('objects.not-found', 1, 'answered 404'),
      '409': fails('objects.denied', 1, 'answered 409'),
      '429': fails('objects.unreachable', 'limit', 'answered 429'),
      '503': fails('objects.unreachable', 'limit', 'answered 503'),
      'endless 400': fails('objects.denied', 1, 'answered 400'),
      'slow 400': fails('objects.denied', 1, 'answered 400'),
      ...files,
    },
  },
  {
    names: ['get of an object', 'list of objects'],
    limit: kubeLimit,
    endings: {
      ...kubeFaults('limit'),
      '404': works('it does not exist, or the kind is not served yet'),
      '409': conflict,
    },
  },
  {
    names: ['create of an object', 'patch of an object'],
    limit: kubeLimit,
    endings: {
      ...kubeFaults('limit'),
      '404': fails('kube.not-found', 1, 'answered 404'),
      '409': conflict,
    },
  },
  {
    names: ['list of what is followed'],
    endings: {
      ...kubeFaults('on'),
      '404': works('the kind is not served yet; the view is empty and not synced', 'on'),
      '409': fails('kube.conflict', 'on', 'answered 409'),
    },
  },
  {
    names: ['watch of what is followed'],
    endings: {
      ...kubeFaults('on'),
      reset: works('the next watch begins where this one was', 'on'),
      stall: fails('kube.unreachable', 'on', 'in time'),
      '404': works('the view is empty and not synced until the next list', 'on'),
      '409': fails('kube.conflict', 'on', 'answered 409'),
      HTML: relisted,
      endless: relisted,
    },
  },
];
