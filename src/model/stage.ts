import { hours, type Millis, minutes } from './duration.ts';

/**
 * Host stages in the spelling of the inventory service (assisted-service swagger, definition
 * `host-stage`).
 */
export const stages = [
  'Starting installation',
  'Installing',
  'Writing image to disk',
  'Copying registry data to disk',
  'Waiting for control plane',
  'Waiting for bootkube',
  'Waiting for controller',
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
  'Failed',
] as const;

/** A stage that a host can report. */
export type Stage = (typeof stages)[number];

/**
 * Time until the service fails a host whose stage and progress text have not changed
 * (assisted-service, `HOST_STAGE_*_TIMEOUT`); a changed text starts the time again. The stages that
 * end an installation have no limit.
 */
export const stageLimits: Readonly<Record<Stage, Millis>> = {
  'Starting installation': minutes(30),
  Installing: minutes(60),
  'Writing image to disk': minutes(30),
  'Copying registry data to disk': minutes(90),
  'Waiting for control plane': minutes(60),
  'Waiting for bootkube': minutes(60),
  'Waiting for controller': minutes(60),
  Rebooting: minutes(40),
  'Waiting for ignition': hours(24),
  Configuring: minutes(60),
  Joined: minutes(60),
  Done: Number.POSITIVE_INFINITY,
  Failed: Number.POSITIVE_INFINITY,
};

/** The ladders: one list of stages for each kind of host. */
export type LadderName = 'bootstrap' | 'master' | 'worker' | 'single-node';

/**
 * Order in which the service accepts stages: it refuses a lower stage than the current one, and a
 * stage that is not in the list, with 409. `Failed` is always accepted.
 */
export const ladders: Readonly<Record<LadderName, readonly Stage[]>> = {
  bootstrap: [
    'Starting installation',
    'Installing',
    'Writing image to disk',
    'Copying registry data to disk',
    'Waiting for control plane',
    'Waiting for bootkube',
    'Waiting for controller',
    'Rebooting',
    'Configuring',
    'Joined',
    'Done',
  ],
  master: [
    'Starting installation',
    'Installing',
    'Writing image to disk',
    'Copying registry data to disk',
    'Rebooting',
    'Configuring',
    'Joined',
    'Done',
  ],
  worker: [
    'Starting installation',
    'Installing',
    'Writing image to disk',
    'Waiting for control plane',
    'Rebooting',
    'Waiting for ignition',
    'Configuring',
    'Joined',
    'Done',
  ],
  'single-node': [
    'Starting installation',
    'Installing',
    'Waiting for bootkube',
    'Writing image to disk',
    'Copying registry data to disk',
    'Rebooting',
    'Joined',
    'Done',
  ],
};
