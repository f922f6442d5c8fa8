import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { readObjects } from '../layering/api/source-object.ts';
import { type Fields, fieldsOf, textOf } from '../lib/fields.ts';
import { jsonIn } from '../lib/json.ts';

/**
 * Keys of the Secret with the installer's inputs (openshift/installer, `pkg/asset/store`,
 * `pkg/asset/installconfig`).
 */
export const installStateKeys = {
  config: 'install-config.yaml',
  state: '.openshift_install_state.json',
} as const;

/**
 * Without this manifest, the installer ignores all manifests (openshift/installer,
 * `pkg/asset/manifests/operators.go`).
 */
export const firstManifest = 'manifests/cluster-config.yaml';

/** Texts of the installer's two files, if they exist. */
export interface InstallState {
  readonly config: string | undefined;
  readonly state: string | undefined;
}

/**
 * The install-config of an installation: its file, or the copy in the state, which remains after
 * the installer consumed the file (openshift/installer, `pkg/asset/installconfig`). Undefined if
 * neither can be read.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function readInstallConfig({ config, state }: InstallState): Fields | undefined {
  const asset = fieldsOf(jsonIn(state ?? ''))['*installconfig.InstallConfig'];
  const data = textOf(fieldsOf(fieldsOf(asset)['file'])['Data']);
  const text = config ?? Buffer.from(data, 'base64').toString();
  const [object] = readObjects({ path: installStateKeys.config, text }, 'an install-config');
  return object?.value;
}

/**
 * The reason, if any, why an install-config cannot be used: the installer gets the state and its
 * manifests, which were made from another. The state's copy has all defaults, so it differs from
 * the file that a user wrote even if nobody changed that.
 * @param manifests paths of all manifests
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function staleStateProblems(
  { config, state }: InstallState,
  manifests: readonly string[],
): readonly string[] {
  if (config === undefined || state === undefined || !manifests.includes(firstManifest)) return [];
  const [given, used] = [config, undefined].map((one) => readInstallConfig({ config: one, state }));
  if (isDeepStrictEqual(given, used)) return [];
  return [
    `${installStateKeys.config} differs from the one in ${installStateKeys.state}, of which the manifests were made: remove it, or remove the state and what the installer made`,
  ];
}

/**
 * Differences between an install-config and its control plane, which the installer does not know.
 * The installer checks the rest of an install-config.
 */
export function installConfigProblems(
  config: Fields,
  { cluster, replicas }: { readonly cluster: string | undefined; readonly replicas: number },
): readonly string[] {
  const name = textOf(fieldsOf(config['metadata'])['name']);
  // The installer's default is 3 (openshift/installer, `pkg/types/defaults`).
  const masters = fieldsOf(config['controlPlane'])['replicas'] ?? 3;
  const problems: string[] = [];
  if (cluster !== undefined && name !== cluster)
    problems.push(`metadata.name is ${name}, and the Cluster is called ${cluster}`);
  if (masters !== replicas)
    problems.push(
      `controlPlane.replicas is ${JSON.stringify(masters)}, and the control plane has ${replicas}`,
    );
  return problems;
}
