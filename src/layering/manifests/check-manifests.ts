import {
  type OSConfigFinding,
  osConfigFindings,
  referenceFindings,
  refuseFindings,
} from '../api/os-config-findings.ts';
import { type MachineOSConfig, readMachineOSConfig } from '../api/os-config.ts';
import type { Fields } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';
import { type FoundObject, isBuiltBefore, type OsManifests } from './bootstrap-manifests.ts';

/** A MachineOSConfig whose image can be built. */
export interface BuildableConfig {
  readonly config: MachineOSConfig;
  /** The object as in its manifest. */
  readonly object: Fields;
  /** Name of the Secret with the right to push the image. */
  readonly pushSecret: string;
  /**
   * Name of the Secret among the manifests with the right to pull the base; without it the
   * cluster's pull secret is used.
   */
  readonly baseSecret: string | undefined;
}

/** The images to build, and the pools whose image already exists. */
export interface BuildRequests {
  /** The pool of masters first, then sorted by name. */
  readonly toBuild: readonly BuildableConfig[];
  /** Pools with an existing image, which their MachineOSConfig names. */
  readonly builtBefore: readonly string[];
}

/** Pools that the operator creates itself. */
export const operatorPools = ['master', 'worker', 'arbiter'];

/**
 * The Secret that the operator creates from the cluster's pull secret, where a MachineOSConfig
 * names none.
 */
const madeByOperator = 'global-pull-secret-copy';

/**
 * Finds the pools whose image has to be built, and refuses images that could not be built, pushed
 * or used.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid`,
 * `layering.os-config-twice`, `layering.integrated-registry`
 */
export function buildRequestsIn(manifests: OsManifests): BuildRequests {
  const read = manifests.osConfigs.map((found) => ({
    ...found,
    config: readMachineOSConfig(found.object),
  }));
  requireOneEach(read);
  const [before, toBuild] = [true, false].map((wanted) =>
    read.filter(({ object }) => isBuiltBefore(object) === wanted),
  );
  return {
    toBuild: (toBuild ?? [])
      .map((one) => buildable(one, manifests))
      .sort((one, other) => rankOf(one).localeCompare(rankOf(other), 'en')),
    builtBefore: (before ?? []).map(({ config }) => config.name),
  };
}

type ReadConfig = FoundObject & { readonly config: MachineOSConfig };

const rankOf = ({ config }: BuildableConfig): string =>
  config.name === 'master' ? '' : config.name;

function requireOneEach(read: readonly ReadConfig[]): void {
  for (const [index, { config, object }] of read.entries()) {
    const first = read.findIndex((other) => other.config.name === config.name);
    if (first === index) continue;
    const places = [read[first]?.object, object].map((one) => one?.place(['metadata', 'name']));
    throw layeringFailure(
      'layering.os-config-twice',
      `two MachineOSConfigs are called ${config.name}: ${places.join(' and ')}`,
    );
  }
}

function buildable(
  { config, object }: ReadConfig,
  { pools, secrets }: OsManifests,
): BuildableConfig {
  const { spec } = config;
  const base = spec.baseImagePullSecret?.name;
  refuseFindings(object, [
    ...osConfigFindings(config),
    ...referenceFindings(withoutMadeSecret(config), {
      pools: [...operatorPools, ...pools],
      secrets: secrets.map(({ secret }) => secret),
    }),
    ...olderSecrets(config, secrets),
  ]);
  if (/^[^/]+\.svc:/.test(spec.renderedImagePushSpec)) {
    throw layeringFailure(
      'layering.integrated-registry',
      `${object.place(['spec', 'renderedImagePushSpec'])}: ${spec.renderedImagePushSpec} is in the registry of the cluster itself`,
    );
  }
  return {
    config,
    object: object.value,
    pushSecret: spec.renderedImagePushSecret.name,
    baseSecret: base === madeByOperator ? undefined : base,
  };
}

/** Builders accept credentials in the form of podman; the operator would convert the older form. */
function olderSecrets(
  { spec: { baseImagePullSecret, renderedImagePushSecret } }: MachineOSConfig,
  secrets: OsManifests['secrets'],
): readonly OSConfigFinding[] {
  const names = [renderedImagePushSecret.name, baseImagePullSecret?.name];
  return secrets
    .filter(
      ({ secret }) => names.includes(secret.name) && secret.type === 'kubernetes.io/dockercfg',
    )
    .map(({ path, secret }) => ({
      path: 'spec',
      message: `Secret ${secret.name} in ${path} is of type ${secret.type}: create one of type kubernetes.io/dockerconfigjson`,
    }));
}

/** A MachineOSConfig without a reference to the Secret that the operator creates. */
export function withoutMadeSecret(config: MachineOSConfig): MachineOSConfig {
  const { baseImagePullSecret, ...spec } = config.spec;
  const isMade = baseImagePullSecret?.name === madeByOperator;
  return isMade ? { ...config, spec } : config;
}
