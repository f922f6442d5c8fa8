import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  assetKeys,
  assetsSecretName,
  bootstrapConfigs,
  type BootstrapConfigSpec,
  capiNames,
  machineType,
} from '../../../src/capi/api.ts';
import { secretData } from '../../../src/capi/objects.ts';
import { secrets } from '../../../src/kube/kinds.ts';
import type { RunEvent } from '../../../src/engine/events.ts';
import { textAt } from '../../../src/kube/object.ts';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { startBootstrapProvider } from '../../capi/bootstrap-provider.ts';
import {
  clusterObjects,
  controlPlaneObject,
  devClusters,
  machineObjects,
} from '../../capi/cluster.ts';
import { type Management, startManagement } from '../../capi/management.ts';
import { startGuest } from '../rig/guest.ts';
import { readOnBoot, unpackOsDisk, writeOnBoot } from '../rig/os-disk.ts';
import { bootInstalled, type DiskBoot } from './first-boot.ts';
import { jobRunner, pointerConfig, programFile } from './ignition.ts';
import { eventsIn } from './job-log.ts';
import type { LayeredImages } from './layered-images.ts';
import { type Outside, seenByGuests, startOutside } from './outside.ts';
import { deadlineSeconds, type PreparedGuests } from './prepare.ts';

/** How the install from a config drive went. */
export interface ConfigDriveInstall {
  /** The output of the host that runs from its disk image. */
  readonly report: string;
  readonly events: readonly RunEvent[];
  /** The config of the host in the management cluster, once the host has left. */
  readonly config: KubeObject;
  /** The warnings of the provider. */
  readonly warnings: readonly string[];
  /** The first boot of what was installed. */
  readonly boot: DiskBoot;
}

/** The id by which Metal3 knows the host, and which it writes into its metadata. */
export const metadataUuid = '7b1d1f0e-3c86-4a52-9d0b-2a7e5e6f4c11';

const cluster = 'metal';
const machine = 'existing-0';
const place = { namespace: cluster };
/** The port of the API of the cluster, which gets no requests here. */
const anyPort = 6443;

/**
 * BIOS. A master of the real Cluster API core, as Metal3 boots it: the disk image of CoreOS is on
 * the disk already, and behind it a config drive with the data Secret of its Machine. Ignition
 * reads that and starts the agent, which installs into the root that runs: a container image
 * becomes a second system beside it, with a stateroot and a first boot of its own.
 */
export async function installFromConfigDrive(
  { folder, agentDisk }: PreparedGuests,
  { other }: LayeredImages,
): Promise<ConfigDriveInstall> {
  await using outside = await startOutside(machine);
  await using rig = await startManagement();
  await using provider = await startBootstrapProvider(rig, seenByGuests);
  const userData = await createMachine(rig, outside, other.image);
  const target = join(folder, 'config-drive.raw');
  await createHostDisk(target, folder, userData);
  const report = await (async () => {
    const disks = [
      { path: target, serial: 'target', writes: 'kept' },
      { path: agentDisk, serial: 'agent', writes: 'read-only' },
    ] as const;
    await using guest = startGuest({ firmware: 'bios', disks }, folder, 'config-drive');
    await guest.ended(deadlineSeconds);
    return guest.job.text();
  })();
  const config = await rig.found({ kind: bootstrapConfigs, ...place }, (one) => one);
  const bootPlace = { folder, name: 'config-drive-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, bootPlace);
  return { report, events: eventsIn(report), config, warnings: provider.failures, boot };
}

/** Makes the Machine of a master, and returns the user data that it has in the end. */
async function createMachine(
  rig: Management,
  { machineConfigServer }: Outside,
  image: string,
): Promise<string> {
  const source = `${seenByGuests(machineConfigServer.url)}/config/master`;
  const pointer = {
    ...pointerConfig({ hostname: machine, source }),
    systemd: { units: [kubelet] },
  };
  for (const object of clusterObjects(cluster, anyPort)) await rig.apply(object);
  const { apiVersion, kind, metadata } = await rig.apply(controlPlaneObject(cluster));
  const { name: owner, uid = '' } = metadata;
  const owned = { ownerReferences: [{ apiVersion, kind, name: owner, uid, controller: true }] };
  const assets: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: assetsSecretName(cluster), ...place, ...owned },
    data: secretData({ [assetKeys.masterIgnition]: JSON.stringify(pointer) }),
  };
  const pullSecret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: { name: 'pull-secret', ...place },
    data: secretData({ '.dockerconfigjson': '{"auths":{}}' }),
  };
  for (const object of [
    assets,
    pullSecret,
    ...machineObjects({ cluster, name: machine }, specOf(image)).map(asMaster),
  ])
    await rig.apply(object);
  // core reads a Metal3Cluster in the same way; the machine is made by the test.
  const infrastructure = { kind: devClusters, ...place, name: cluster };
  await rig.client.mergeStatus(infrastructure, { initialization: { provisioned: true } });
  const config = await rig.found({ kind: bootstrapConfigs, ...place }, (one) =>
    textAt(one, 'status', 'dataSecretName') === '' ? undefined : one,
  );
  const name = textAt(config, 'status', 'dataSecretName');
  const secret = await rig.client.get({ kind: secrets, ...place, name });
  return Buffer.from(textAt(secret, 'data', 'value'), 'base64').toString();
}

const asMaster = (object: KubeObject): KubeObject =>
  object.kind === machineType.kind
    ? {
        ...object,
        metadata: {
          ...object.metadata,
          labels: { ...object.metadata.labels, [capiNames.controlPlane]: '' },
        },
      }
    : object;

const specOf = (image: string): BootstrapConfigSpec => ({
  agent: {
    image: 'registry.example.com/bootwright:1',
    args: ['--finish.rebootDelayMinutes=0', '--log.events=/dev/ttyS1'],
  },
  writeMode: 'ExistingRoot',
  osImage: image,
  pullSecretRef: { name: 'pull-secret' },
  registries: `[[registry]]\nlocation = "${image.split('/')[0] ?? ''}"\ninsecure = true\n`,
  nodeRegistration: { labels: { 'metal3.io/uuid': '$METADATA_UUID' } },
  ignitionConfigOverride: JSON.stringify(labConfig),
});

/** Runs the agent's disk where the unit of the agent asks podman for its image. */
const podman = `#!/bin/bash
[ "$1" = run ] || exit 0
shift
while [[ $1 = -* ]]; do
  case $1 in --name | --authfile | -v) shift 2 ;; *) shift ;; esac
done
shift
exec /etc/lab/run-agent /usr/bin/installer "$@"
`;

/**
 * The parts of CoreOS that Lab CoreOS lacks: podman, and a wait for the network. Its /usr is read-only.
 */
const labConfig = {
  ignition: { version: '3.2.0' },
  storage: {
    directories: jobRunner.directories,
    files: [...jobRunner.files, programFile('/etc/lab/bin/podman', podman)],
  },
  systemd: {
    units: [
      { name: 'systemd-networkd-wait-online.service', enabled: true },
      {
        name: 'lab-podman.service',
        enabled: true,
        contents: `[Unit]
Before=bootwright.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount -t overlay overlay -o lowerdir=/etc/lab/bin:/usr/bin /usr/bin
[Install]
WantedBy=multi-user.target
RequiredBy=bootwright.service
`,
      },
    ],
  },
};

/** Prints its arguments. */
const kubelet = {
  name: 'kubelet.service',
  enabled: true,
  contents: `[Unit]
Before=labcoreos-report.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo KUBELET "$$@" > /dev/ttyS1' kubelet
[Install]
WantedBy=multi-user.target
`,
};

const run = promisify(execFile);

const diskMiB = 2048;
const driveMiB = 64;

/**
 * A disk as Ironic leaves it: the image of CoreOS for OpenStack, and at the end of the disk a
 * partition with the config drive, an ISO 9660 file system with the label config-2.
 */
async function createHostDisk(disk: string, folder: string, userData: string): Promise<void> {
  await unpackOsDisk(disk, diskMiB);
  const entry = '/loader.1/entries/ostree-1.conf';
  const options = await readOnBoot(disk, entry);
  await writeOnBoot(disk, entry, options.replace('platform.id=metal', 'platform.id=openstack'));
  const drive = join(folder, 'config-drive');
  const latest = join(drive, 'openstack', 'latest');
  mkdirSync(latest, { recursive: true });
  writeFileSync(join(latest, 'user_data'), userData);
  const metadata = { uuid: metadataUuid, name: machine, 'local-hostname': machine };
  writeFileSync(join(latest, 'meta_data.json'), JSON.stringify(metadata));
  const iso = `${drive}.iso`;
  await run('xorriso', [
    ...['-as', 'mkisofs', '-quiet', '-J', '-r', '-V', 'config-2', '-o', iso, drive],
  ]);
  const startMiB = diskMiB - 1 - driveMiB;
  const adding = run('sfdisk', ['--quiet', '--append', disk]);
  adding.child.stdin?.end(`start=${startMiB}MiB, size=${driveMiB}MiB\n`);
  await adding;
  await run('dd', [`if=${iso}`, `of=${disk}`, 'bs=1M', `seek=${startMiB}`, 'conv=notrunc']);
}
