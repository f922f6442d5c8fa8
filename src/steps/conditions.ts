import { configFailure } from '../config/failures.ts';
import type { Config } from '../config/schema.ts';
import { all, condition } from '../engine/condition.ts';
import { layeringSupport } from '../layering/manifests/release-support.ts';
import { isSameImage } from '../lib/image-name.ts';
import type { RoleName } from '../model/role.ts';

/** The version of the cluster; undefined if it is not given, as on day-2 hosts. */
export const givenVersion = ({ cluster }: Config): string | undefined =>
  cluster.openshiftVersion === '' ? undefined : cluster.openshiftVersion;

/** A decision needs the version of the cluster, but it is not given. */
export const noVersion = (decision: string): Error =>
  configFailure('config.incomplete', `cluster.openshiftVersion is not set; ${decision} needs it`, {
    hint: 'give --openshift-version VERSION (or cluster.openshiftVersion in a file), 4.20.1 for example',
    context: { settings: 'cluster.openshiftVersion' },
  });

/** The final role of the host: the bootstrap host becomes a master. */
export const hostRole = ({ role }: Config): RoleName => (role === 'bootstrap' ? 'master' : role);

/** The image goes into the running root instead of onto a disk. */
export const usesExistingRoot = condition<Config>(
  'the system is installed into the running root',
  ({ image }) => image.existingRoot !== '',
);

/** The disk is written with coreos-installer, the usual case. */
export const writesDisk = condition<Config>(
  'a disk is written',
  ({ image }) => image.existingRoot === '',
);

/**
 * Whether the manifests may ask for OS images. A release without MachineOSConfigs is searched only
 * if the setting asks for it.
 */
export const looksForOsConfigs = condition<Config>(
  'OS images may be built during the installation',
  (config) => {
    const { mode } = config.layering;
    const version = givenVersion(config);
    const mayBuild = version === undefined || layeringSupport(version).kind !== 'none';
    return mode === 'on' || (mode === 'auto' && mayBuild);
  },
  (config) => (config.layering.mode === 'off' ? 'layering.mode is off' : explainLayering(config)),
);

/** The handling of requested OS images by the release, as a plan prints it. */
export function explainLayering(config: Config): string {
  const version = givenVersion(config);
  return version === undefined
    ? 'cluster.openshiftVersion is not set; bootstrap.ign names the release'
    : layeringSupport(version).why;
}

/** Whether OS images are built if the manifests ask for it: a disk with room for them is needed. */
export const buildsOsImages = all(writesDisk, looksForOsConfigs);

/**
 * An inventory service is configured: steps that list hosts, report for others, or keep logs need
 * one.
 */
export const hasService = condition<Config>(
  'there is an inventory service',
  ({ service }) => !service.url.isEmpty,
);

/** The service knows this host: it accepts its reports and its logs. */
export const knowsHost = condition<Config>(
  'there is an inventory service that knows this host',
  ({ service, cluster }) => !service.url.isEmpty && cluster.hostId !== '',
);

/**
 * A worker looks for the image of its pool: in the repository that its configuration names, or, if
 * the operating system is completed before the first boot anyway, in the config that its pool is
 * served.
 */
export const takesBuiltImage = condition<Config>(
  'the node looks for the built image of its pool',
  ({ role, layering, image }) =>
    role === 'worker' &&
    (layering.repository !== '' || (image.skipMcoReboot && layering.mode !== 'off')),
);

/** The bootstrap host starts other masters; an unknown number counts as several. */
export const isMultiNode = condition<Config>(
  'the cluster has several control-plane nodes',
  ({ cluster }) => cluster.controlPlaneCount !== 1,
);

/**
 * The image of the cluster's controller: the image that the service names; without a service, our
 * own.
 */
export const controllerImage = ({ service, images }: Config): string =>
  service.url.isEmpty ? images.self : images.controller;

/**
 * Whether the controller of the cluster is this program too, and completes the work of this host.
 */
export const isOwnController = (config: Config): boolean =>
  isSameImage(controllerImage(config), config.images.self);

/** The reason why no controller completes the work of this host. */
export function whyNoFollower({ service, images }: Config): string {
  if (service.url.isEmpty) return 'there is no service, and the image of this program is unknown';
  return images.self === ''
    ? `the controller is ${images.controller}, and the image of this program is unknown`
    : `the controller is ${images.controller}, and not this program, ${images.self}`;
}

/**
 * Whether this host adds a controller to its cluster. Without a service a single node has no work
 * for one.
 */
export const deploysController = condition<Config>(
  'there is an inventory service, or several control-plane nodes and the image of this program',
  ({ service, images, cluster, controller: { withoutService } }) =>
    (!service.url.isEmpty && !withoutService) ||
    ((images.self !== '' || withoutService) && cluster.controlPlaneCount !== 1),
);

/** Whether the controller of the cluster completes the work of this host. */
export const leavesRecord = condition<Config>(
  'the controller of the cluster is this program too',
  isOwnController,
  whyNoFollower,
);

/** A choice as a plan prints it, or the reason why none is possible. */
export function choiceOr(choice: () => string): string {
  try {
    return choice();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
