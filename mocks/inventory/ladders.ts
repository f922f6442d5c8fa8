// A second copy on purpose: a stand-in that used the product's own table could never find a mistake
// in it.

/** Stages of version 2 of the service (assisted-service swagger, `host-stage`). */
export const stagesV2 = [
  'Starting installation',
  'Waiting for control plane',
  'Waiting for bootkube',
  'Waiting for controller',
  'Installing',
  'Writing image to disk',
  'Copying registry data to disk',
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
  'Failed',
] as const;

/** Stages of version 1, as of August 2020. */
export const stagesV1 = [
  'Starting installation',
  'Waiting for control plane',
  'Start Waiting for control plane',
  'Installing',
  'Writing image to disk',
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
  'Failed',
] as const;

/** The facts of a host that decide about its list of stages. */
interface LadderOwner {
  readonly role: string;
  readonly isBootstrap: boolean;
  readonly isSingleNode: boolean;
  readonly api: 'v1' | 'v2';
}

const begin = ['Starting installation', 'Installing'];
const write = ['Writing image to disk', 'Copying registry data to disk'];
const end = ['Configuring', 'Joined', 'Done'];

const laddersV2 = {
  bootstrap: [
    ...begin,
    ...write,
    'Waiting for control plane',
    'Waiting for bootkube',
    'Waiting for controller',
    'Rebooting',
    ...end,
  ],
  master: [...begin, ...write, 'Rebooting', ...end],
  worker: [
    ...begin,
    'Writing image to disk',
    'Waiting for control plane',
    'Rebooting',
    'Waiting for ignition',
    ...end,
  ],
  singleNode: [...begin, 'Waiting for bootkube', ...write, 'Rebooting', 'Joined', 'Done'],
};

const laddersV1 = {
  bootstrap: [
    ...begin,
    'Writing image to disk',
    'Waiting for control plane',
    'Rebooting',
    'Configuring',
    'Done',
  ],
  master: [...begin, 'Writing image to disk', 'Rebooting', ...end],
  worker: [
    ...begin,
    'Writing image to disk',
    'Rebooting',
    'Waiting for ignition',
    'Configuring',
    'Done',
  ],
};

/** The stages of a host in the order in which the service accepts them. */
export function ladderOf({ role, isBootstrap, isSingleNode, api }: LadderOwner): readonly string[] {
  const ladders = api === 'v1' ? laddersV1 : laddersV2;
  if (isSingleNode && api === 'v2') return laddersV2.singleNode;
  if (isBootstrap) return ladders.bootstrap;
  return role === 'worker' ? ladders.worker : ladders.master;
}
