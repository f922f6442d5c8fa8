import * as z from 'zod';
import { needsOverride } from '../../cluster/etcd.ts';
import { releaseImageIn, releaseScript } from '../../cluster/release.ts';
import { installerVersion } from '../../cluster/install-config.ts';
import { isActive } from '../../engine/condition.ts';
import { fact } from '../../engine/fact.ts';
import type { Config } from '../../config/schema.ts';
import { PULL_SECRET_PATH, readFileContent } from '../../ignition/resource.ts';
import type { Config as IgnitionConfig } from '../../ignition/types.ts';
import { jsonIn } from '../../lib/json.ts';
import { yamlIn } from '../../lib/yaml-text.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  deploysController,
  givenVersion,
  isOwnController,
  noVersion,
  whyNoFollower,
  choiceOr,
} from '../conditions.ts';
import {
  bootstrapIgnitionPath,
  gatedLimit,
  type ReceiveScope,
  receiveValid,
  refuseWrongTime,
  untilReady,
} from '../ignition/fetch-host.ts';
import { step } from '../step.ts';
import { bootstrapFailure } from './failures.ts';

function requireControllerImage({ images, service }: Config): void {
  if (images.controller !== '' || service.url.isEmpty) return;
  throw bootstrapFailure('bootstrap.no-controller-image', 'images.controller is not set');
}

/** On a single node etcd needs no settings. */
function requireEtcdPutBack(config: Config): void {
  const { bootstrap, cluster } = config;
  if (cluster.controlPlaneCount === 1 || isOwnController(config)) return;
  if (!needsOverride(givenVersion(config), bootstrap.etcdOverride)) return;
  throw bootstrapFailure(
    'bootstrap.etcd-stays-changed',
    `etcd of OpenShift ${cluster.openshiftVersion} would be changed, and no controller would restore it: ${whyNoFollower(config)}`,
  );
}

/** Refuses to build OS images by a setting if the version of the release is unknown. */
function requireVersionToBuild(config: Config): void {
  if (config.layering.mode === 'on' && givenVersion(config) === undefined) {
    throw noVersion('layering.mode on');
  }
}

const bootstrapRequirements = [
  requireVersionToBuild,
  chooseBootstrapSource,
  requireControllerImage,
  requireEtcdPutBack,
];

/** Fails on missing settings of the bootstrap before any step changes a disk. */
export const checkBootstrapSettings = step({
  id: 'bootstrap/check',
  title: 'Check that the settings for the bootstrap are complete',
  uses: [],
  effect: 'reads',
  limit: minutes(5),
  requires: bootstrapRequirements,
  run: ({ config }) => {
    for (const requireSetting of bootstrapRequirements) requireSetting(config);
    return Promise.resolve();
  },
});

const fileName = 'bootstrap.ign';

type BootstrapPorts = Pick<Ports, 'inventory' | 'objects'>;

interface BootstrapSource {
  /** For people, without credentials. */
  readonly place: string;
  readonly open: (ports: BootstrapPorts, signal: AbortSignal) => Promise<Download>;
}

/**
 * Chooses the source of bootstrap.ign: the object store or the service, as `ignition.source` says,
 * otherwise the object store if one is configured. `ignition.url` and `ignition.file` are for the
 * config of one host, so they do not apply.
 * @throws AgentError `bootstrap.no-source`
 */
export function chooseBootstrapSource(config: Config): BootstrapSource {
  const wanted = config.ignition.source;
  const [s3, service] = [fromS3(config), fromService(config)];
  const found = wanted === 's3' ? s3 : wanted === 'service' ? service : (s3 ?? service);
  if (found === undefined) {
    const what = `${fileName} needs the service or an object store, and neither is configured`;
    throw bootstrapFailure('bootstrap.no-source', what, {
      context: { source: wanted, settings: 'service.url, s3.endpoint, s3.bucket' },
    });
  }
  return found;
}

/** The choice as a plan prints it, or the reason why none is possible. */
export const explainBootstrapSource = (config: Config): string =>
  choiceOr(() => `from ${chooseBootstrapSource(config).place}`);

function fromS3({ s3, cluster }: Config): BootstrapSource | undefined {
  const { endpoint, bucket } = s3;
  if (endpoint.isEmpty || bucket === '') return undefined;
  const key = `${cluster.id}/${fileName}`;
  return {
    place: `${String(endpoint)}, ${bucket}/${key}`,
    open: ({ objects }, signal) => objects.get(bucket, key, signal),
  };
}

function fromService({ service }: Config): BootstrapSource | undefined {
  if (service.url.isEmpty) return undefined;
  return {
    place: String(service.url),
    open: ({ inventory }, signal) => inventory.clusterFile(fileName, signal),
  };
}

/**
 * bootstrap.ign on this host; the version of the cluster: the given one, or that of bootstrap.ign;
 * and the release image in bootstrap.ign.
 */
export const BootstrapIgnition = fact(
  'ignition.bootstrap',
  z.strictObject({
    path: z.string(),
    sha256: z.string(),
    openshiftVersion: z.string().optional(),
    releaseImage: z.string().optional(),
  }),
);

/**
 * Refuses a pull secret that podman cannot read (containers-auth.json(5)); the error never quotes
 * its text.
 */
function requirePullSecret(content: Uint8Array): void {
  const secret = jsonIn(Buffer.from(content).toString('utf8'));
  if (z.object({ auths: z.record(z.string(), z.object({})) }).safeParse(secret).success) return;
  throw bootstrapFailure('bootstrap.bad-pull-secret', `${PULL_SECRET_PATH} has no \`auths\``);
}

/** The manifest in which openshift-install records its invoker and its release. */
const installerManifest = '/opt/openshift/openshift/openshift-install-manifests.yaml';

/**
 * The version of the cluster; undefined if it is unknown and no step needs it.
 * @throws AgentError `config.incomplete`
 */
function versionOf(config: Config, ignition: IgnitionConfig): string | undefined {
  const given = givenVersion(config);
  if (given !== undefined) return given;
  const hasManifest = ignition.storage?.files?.some(({ path }) => path === installerManifest);
  const content = hasManifest === true ? readFileContent(ignition, installerManifest) : [];
  const version = installerVersion(yamlIn(Buffer.from(content).toString('utf8')));
  const needsSettings = needsOverride(version, config.bootstrap.etcdOverride);
  if (needsSettings && config.cluster.controlPlaneCount !== 1) {
    throw noVersion(`etcd of OpenShift ${version ?? ''}`);
  }
  if (version === undefined && isActive(deploysController, config)) {
    throw noVersion('the controller of the cluster');
  }
  return version;
}

/**
 * The release image in bootstrap.ign; undefined if it names none and no step needs it.
 * @throws AgentError `bootstrap.no-mco-image`
 */
function releaseImageOf(config: Config, ignition: IgnitionConfig): string | undefined {
  const hasScript = ignition.storage?.files?.some(({ path }) => path === releaseScript) === true;
  const script = hasScript ? readFileContent(ignition, releaseScript) : [];
  const image = releaseImageIn(Buffer.from(script).toString('utf8'));
  if (image !== undefined || config.images.mco !== '') return image;
  const what = `images.mco is not set, and ${releaseScript} in ${fileName} names no release image`;
  throw bootstrapFailure('bootstrap.no-mco-image', what);
}

/**
 * Fetches bootstrap.ign and checks the members that an installation needs.
 * @throws AgentError `bootstrap.*`, `ignition.*`, `config.incomplete`, and those of its source
 */
export async function readBootstrapIgnition({
  config,
  signal,
  hide,
  ...ports
}: ReceiveScope<keyof BootstrapPorts>) {
  const download = await chooseBootstrapSource(config).open(ports, signal);
  // ignition.sha256 is the digest of this host's config, not of bootstrap.ign.
  const valid = await receiveValid(download, { sha256: '', hide });
  requirePullSecret(readFileContent(valid.config, PULL_SECRET_PATH));
  const openshiftVersion = versionOf(config, valid.config);
  return { ...valid, openshiftVersion, releaseImage: releaseImageOf(config, valid.config) };
}

/** Fetches bootstrap.ign and validates it before the write. */
export const fetchIgnition = step({
  id: 'bootstrap/fetch-ignition',
  title: 'Fetch bootstrap.ign',
  uses: ['host', 'inventory', 'objects', 'clock'],
  gives: BootstrapIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: gatedLimit,
  explain: (config) =>
    [
      `${explainBootstrapSource(config)}, to ${bootstrapIgnitionPath}`,
      ...(givenVersion(config) === undefined ? ['it must name the release'] : []),
      ...(config.images.mco === '' ? ['it must name the release image'] : []),
    ].join('; '),
  run: async (scope) => {
    const { host, signal } = scope;
    const read = async () => {
      const valid = await readBootstrapIgnition(scope);
      refuseWrongTime(valid.config, scope.clock.now());
      return valid;
    };
    const { bytes, ...valid } = await untilReady(scope, fileName, read);
    await host.writeFile(bootstrapIgnitionPath, bytes, { signal, mode: 0o600 });
    const { sha256, openshiftVersion, releaseImage } = valid;
    return { path: bootstrapIgnitionPath, sha256, openshiftVersion, releaseImage };
  },
});
