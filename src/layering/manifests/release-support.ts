import { isAtLeast, type ReleaseVersion, releaseVersion } from '../../cluster/release.ts';

/**
 * How a release handles the images of its MachineOSConfigs during an installation. `build`:
 * Bootwright builds them, serves them to nodes, which boot into them at once, and hands them over.
 * `submit`: Bootwright submits the MachineOSConfigs last, and the cluster builds the images and
 * rolls them out. `none`: the release has no MachineOSConfig.
 */
export interface LayeringSupport {
  readonly kind: 'build' | 'submit' | 'none';
  /** The reason, in one sentence without its period. */
  readonly why: string;
}

/**
 * Newest first. From 4.21 on nodes trust the image in their Ignition, and the operator accepts an
 * image that it did not build; MachineOSConfig v1 came with 4.18.21 (machine-config-operator, its
 * release branches).
 */
const rows: readonly (LayeringSupport & { readonly from: ReleaseVersion })[] = [
  {
    from: [4, 21, 0],
    kind: 'build',
    why: 'its nodes keep the image that their Ignition names, so they are served the built image and boot into it',
  },
  {
    from: [4, 18, 21],
    kind: 'submit',
    why: 'its nodes return to the OS of the release at their first boot, so the MachineOSConfigs are submitted last, and the cluster builds the images and rolls them out',
  },
  {
    from: [0, 0, 0],
    kind: 'none',
    why: 'MachineOSConfig v1 came with 4.18.21',
  },
];

/** The layering support of a release. */
export function layeringSupport(openshiftVersion: string): LayeringSupport {
  const version = releaseVersion(openshiftVersion);
  const row = version === undefined ? undefined : rows.find(({ from }) => isAtLeast(version, from));
  if (row === undefined)
    return { kind: 'none', why: `${openshiftVersion} is not the version of an OpenShift release` };
  return { kind: row.kind, why: `OpenShift ${openshiftVersion}: ${row.why}` };
}
