import type { ClusterRecord } from '../inventory/records.ts';
import type { LabHost } from './scenario.ts';

/** What the service knows when it gives out an install command. */
export interface CommandFacts {
  readonly host: LabHost;
  readonly hostId: string;
  readonly infraEnvId: string;
  readonly cluster: ClusterRecord;
  readonly serviceUrl: string;
  readonly bootDevice: string;
  /** The final system is to be written before the first boot. */
  readonly skipsMcoReboot?: boolean;
}

/** The words after the image in the service's `podman run`, in its order (assisted-service, 2026). */
export function installArguments(facts: CommandFacts): readonly string[] {
  const { host, hostId, infraEnvId, cluster, serviceUrl, bootDevice } = facts;
  const isDay1 = cluster.kind === 'Cluster';
  return [
    ...['--role', host.role, '--infra-env-id', infraEnvId, '--cluster-id', cluster.id],
    ...['--host-id', hostId, '--boot-device', bootDevice, '--url', serviceUrl],
    ...['--controller-image', 'registry.example.test/controller:1'],
    ...['--agent-image', 'registry.example.test/agent:1'],
    ...(cluster.controlPlaneCount === 0
      ? []
      : ['--control-plane-count', String(cluster.controlPlaneCount)]),
    ...(isDay1 ? ['--mco-image', 'registry.example.test/mco:1'] : []),
    ...(isDay1 ? ['--must-gather-image', 'registry.example.test/must-gather:1'] : []),
    ...(isDay1 ? ['--openshift-version', cluster.openshiftVersion] : []),
    ...(facts.skipsMcoReboot === true ? ['--enable-skip-mco-reboot'] : []),
    ...(host.installerArgs.length === 0
      ? []
      : ['--installer-args', JSON.stringify(host.installerArgs)]),
  ];
}

/** The variable that sets a setting of the agent: `image.sha256` is BOOTWRIGHT_IMAGE_SHA256. */
export const settingVariable = (name: string): string =>
  `BOOTWRIGHT_${name
    .replaceAll('.', '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()}`;
