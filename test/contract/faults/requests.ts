// Outcomes of each kind of the product's requests when the server or the network is faulty.
// requests.test.ts runs each cell over the wire.
import { type Millis, minutes } from '../../../src/model/duration.ts';

/** The outcome of a request. */
export interface Ending {
  /** Code of the failure; undefined on success. */
  readonly code?: string;
  /** Number of attempts; `limit`: until the limit of the call, `on`: until the follower stops. */
  readonly attempts: number | 'limit' | 'on';
  /** Words of the failure's message that name the cause. */
  readonly says?: string;
}

/** Every fault; requests.test.ts has the behaviour of the server for each. */
export type Fault =
  'refused' | 'reset' | 'stall' | '401' | '404' | '409' | '429' | '503' | 'HTML' | 'endless';

/** A kind of request. */
export interface RequestKind {
  /** Limit of a call with its retries; undefined for a follower. */
  readonly limit?: Millis;
  readonly endings: Readonly<Record<Fault, Ending>>;
}

type Times = Ending['attempts'];

const fails = (code: string, attempts: Times, says: string): Ending => ({ code, attempts, says });
const works = (attempts: Times = 1): Ending => ({ attempts });

const unreachable = (attempts: Times) => ({
  refused: fails('inventory.unreachable', attempts, 'connection refused'),
  stall: fails('inventory.unreachable', attempts, 'did not answer in time'),
  '429': fails('inventory.unreachable', attempts, 'answered 429'),
  '503': fails('inventory.unreachable', attempts, 'answered 503'),
});

const refusals = (missing: number) => ({
  '401': fails('inventory.denied', 1, 'answered 401'),
  '404': fails('inventory.not-found', missing, 'answered 404'),
  '409': fails('inventory.refused', 1, 'answered 409'),
});

/** The status is the answer; nobody reads the body. */
const bodyUnread = { reset: works(), HTML: works(), endless: works() };

const records = (attempts: Times) => ({
  reset: fails('inventory.unreachable', attempts, 'connection reset'),
  HTML: fails('inventory.unreadable', 1, 'cannot be parsed'),
  endless: fails('inventory.unreadable', 1, 'is longer than 16 MiB'),
});

/** The body is passed on; its reader checks it and stops at a size. */
const files = {
  reset: fails('web.cut', 1, 'connection reset'),
  HTML: works(),
  endless: works(),
};

const update = { ...unreachable('limit'), ...refusals(11), ...bodyUnread };
const list = { ...unreachable('limit'), ...refusals(11), ...records('limit') };

const kubeFaults = (times: 'limit' | 'on') => ({
  refused: fails('kube.unreachable', times, 'connection refused'),
  reset: fails('kube.unreachable', times, 'connection reset'),
  stall: fails('kube.unreachable', times, 'did not answer in time'),
  // Newer credentials are looked for.
  '401': fails('kube.denied', times, 'answered 401'),
  '409': fails('kube.conflict', times === 'on' ? 'on' : 1, 'answered 409'),
  '429': fails('kube.busy', times, 'answered 429'),
  '503': fails('kube.failed', times, 'answered 503'),
  HTML: fails('kube.failed', times, 'not what was asked for'),
  endless: fails('kube.failed', times, 'is longer than 96 MiB'),
});

/** All kinds of the product's requests. */
export const requestKinds = {
  report: {
    limit: minutes(2),
    endings: { ...unreachable(1), ...refusals(11), ...bodyUnread },
  },
  'state of logs': { limit: minutes(2), endings: update },
  'upload of the logs of the controller': { limit: minutes(10), endings: update },
  cluster: { limit: minutes(1), endings: { ...unreachable(1), ...refusals(1), ...records(1) } },
  'operators that are monitored': { limit: minutes(2), endings: list },
  'enabled hosts': { limit: minutes(10), endings: list },
  'Ignition of the host': {
    limit: minutes(10),
    endings: { ...unreachable('limit'), ...refusals(11), ...files },
  },
  'download of a URL: image, stream metadata, Ignition': {
    limit: minutes(10),
    endings: {
      refused: fails('web.unreachable', 'limit', 'connection refused'),
      stall: fails('web.unreachable', 'limit', 'did not answer in time'),
      '401': fails('web.refused', 1, 'answered 401'),
      '404': fails('web.refused', 1, 'answered 404'),
      '409': fails('web.refused', 1, 'answered 409'),
      '429': fails('web.unreachable', 'limit', 'answered 429'),
      '503': fails('web.unreachable', 'limit', 'answered 503'),
      ...files,
    },
  },
  'object of a store': {
    limit: minutes(10),
    endings: {
      refused: fails('objects.unreachable', 'limit', 'connection refused'),
      stall: fails('objects.unreachable', 'limit', 'did not answer in time'),
      '401': fails('objects.denied', 1, 'answered 401'),
      '404': fails('objects.not-found', 1, 'answered 404'),
      '409': fails('objects.denied', 1, 'answered 409'),
      '429': fails('objects.unreachable', 'limit', 'answered 429'),
      '503': fails('objects.unreachable', 'limit', 'answered 503'),
      ...files,
    },
  },
  // An object that does not exist, or of a kind that is not served yet, is no failure.
  'get of an object': { limit: minutes(1), endings: { ...kubeFaults('limit'), '404': works() } },
  'create of an object': {
    limit: minutes(1),
    endings: { ...kubeFaults('limit'), '404': fails('kube.not-found', 1, 'answered 404') },
  },
  'list of what is followed': { endings: { ...kubeFaults('on'), '404': works('on') } },
  // The next watch begins where a broken one was, or a list each second stands for it.
  'watch of what is followed': {
    endings: {
      ...kubeFaults('on'),
      reset: works('on'),
      stall: fails('kube.unreachable', 'on', 'in time'),
      '404': works('on'),
      HTML: works('on'),
      endless: works('on'),
    },
  },
} satisfies Readonly<Record<string, RequestKind>>;
