import { parse } from 'yaml';
import { digestOfText, publish } from '../../mocks/host/images.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import type { BootstrapContents } from '../../mocks/inventory/ignition-files.ts';
import {
  configMaps,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  secrets,
} from '../../src/kube/kinds.ts';
import type { Config } from '../../src/config/schema.ts';
import {
  controllerConfig,
  poolFile,
  renderedFile,
} from '../../src/layering/manifests/bootstrap-files.ts';
import { NODE_ANNOTATIONS_PATH } from '../../src/layering/manifests/served-config.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { osConfigManifest, pushSecretManifest } from '../layering/manifests.ts';
import { poolText, releaseImage, renderedName, renderedText } from '../layering/rendered.ts';
import { servedToWorker, workerCase } from '../layering/worker.ts';
import type { FakeKube } from '../support/fake-kube.ts';

const pools = ['master', 'worker'] as const;
const operatorNamespace = 'openshift-machine-config-operator';
const key = (name: string): string => `machineconfiguration.openshift.io/${name}`;

/** The final image of the masters in these installations. */
export const mastersFinal = `registry.example.com/ocl/master@${digestOfText(renderedName('master'))}`;

/** Manifests that request an OS image for the masters, and the script that names the release. */
const layeredFiles: Readonly<Record<string, string>> = {
  '/opt/openshift/openshift/99-os-master.yaml': `${pushSecretManifest()}---\n${osConfigManifest('master')}`,
  '/usr/local/bin/release-image.sh': `RELEASE_IMAGE_DIGEST="quay.io/release@sha256:${'e'.repeat(64)}"\n`,
};

/** The manifests of a bootstrap host; workers have one too, unless they get the default. */
export const layeredContents = ({ layering: { pushTo } }: Config): BootstrapContents =>
  pushTo === ''
    ? {
        files: {
          ...layeredFiles,
          '/opt/openshift/manifests/99-os-worker.yaml': osConfigManifest('worker'),
        },
      }
    : {
        files: layeredFiles,
        pullSecret: JSON.stringify({ auths: { 'registry.example.com': { auth: btoa('u:p') } } }),
      };

/** Registries with the release, and a builder that succeeds or fails. */
export function giveRelease({ images }: Machine, buildError?: string): void {
  const labels = { 'ostree.bootable': 'true' };
  publish(images, releaseImage, { digest: releaseImage.replace(/^.*@/, ''), labels });
  if (buildError !== undefined) images.buildError = buildError;
}

type Write = (path: string, text: string) => Promise<void>;

/** Writes the results of the bootstrap controller, in its order. */
export async function writeRendered(write: Write): Promise<void> {
  for (const pool of pools) await write(poolFile(pool), poolText(pool));
  for (const pool of pools) await write(renderedFile(renderedName(pool)), renderedText(pool));
  await write(controllerConfig, 'kind: ControllerConfig\n');
}

/** The running system of the masters of a cluster. */
export interface Masters {
  /** The image in their annotations. */
  readonly image?: string;
}

/** Makes the cluster render the same as the bootstrap host. */
export function makeLayered(kube: FakeKube, { image }: Masters): void {
  for (const pool of pools) {
    kube.put(machineConfigPools, poolObject(pool));
    kube.put(machineConfigs, parse(renderedText(pool)) as KubeObject);
  }
  kube.put(configMaps, {
    metadata: { name: 'machine-config-osimageurl', namespace: operatorNamespace },
    data: { baseOSContainerImage: releaseImage, releaseVersion: '4.21.0' },
  });
  for (const node of kube.objectsOf(nodes)) {
    const annotations = {
      [key('currentConfig')]: renderedName('master'),
      [key('desiredConfig')]: renderedName('master'),
      [key('state')]: 'Done',
      ...(image === undefined
        ? {}
        : { [key('currentImage')]: image, [key('desiredImage')]: image }),
    };
    kube.put(nodes, { ...node, metadata: { ...node.metadata, annotations } });
  }
}

const poolObject = (pool: string): KubeObject => {
  const count = pool === 'master' ? 2 : 0;
  return {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name: pool },
    spec: {
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${pool}`]: '' } },
      configuration: { name: renderedName(pool), source: [{ name: `00-${pool}` }] },
    },
    status: {
      machineCount: count,
      updatedMachineCount: count,
      readyMachineCount: count,
      unavailableMachineCount: 0,
      degradedMachineCount: 0,
      conditions: [
        { type: 'Updated', status: 'True' },
        { type: 'Updating', status: 'False' },
        { type: 'Degraded', status: 'False' },
      ],
    },
  };
};

/** Kinds that only an installation with layering writes. */
export const layeredKinds = [secrets, machineOSConfigs, machineOSBuilds];

/** The annotations in the config that a cluster serves to a master whose pool has its image. */
export const servedAnnotations = {
  path: NODE_ANNOTATIONS_PATH,
  content: {
    [key('currentConfig')]: renderedName('master'),
    [key('desiredConfig')]: renderedName('master'),
    [key('currentImage')]: mastersFinal,
    [key('desiredImage')]: mastersFinal,
  },
};

const { repository, rendered, digest, image } = workerCase;

/** Whether a host is a worker whose cluster has an image for its pool, from this release on. */
export const takesImage = ({ role, cluster }: Config): boolean =>
  role === 'worker' && cluster.openshiftVersion === '4.21.0';

/**
 * The config that the cluster serves to it; it names the repository only for hosts whose settings
 * do not.
 */
export const servedTo = ({ layering }: Config): string =>
  servedToWorker(undefined, layering.repository === '' ? { repository } : {});

/** Puts the image of the workers into the repository where they look for it. */
export function giveWorkerImage({ images }: Machine): void {
  const held = { digest, labels: { 'ostree.bootable': 'true' } };
  publish(images, `${repository}:${rendered}`, held);
  publish(images, image, held);
}
