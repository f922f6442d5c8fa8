import type { Config } from '../../../config/schema.ts';
import { controllerJob } from './job.ts';
import { controllerRole, controllerRoleBinding, controllerServiceAccount } from './rights.ts';
import { controllerNamespace, controllerNetworkPolicy } from './room.ts';
import { controllerConfigMap, controllerSecret } from './settings.ts';
import { renderYaml } from './yaml.ts';

/** A manifest as a file. */
export interface ManifestFile {
  readonly name: string;
  readonly content: string;
  /** Of the file; what holds a secret is for root alone. */
  readonly mode: number;
}

/** The objects by the names that their files have in assisted-installer's `deploy` directory. */
const objects: Readonly<Record<string, (config: Config) => object>> = {
  cm: controllerConfigMap,
  secret: controllerSecret,
  pod: controllerJob,
  'network-policy': () => controllerNetworkPolicy,
  nm: () => controllerNamespace,
  'role-binding': () => controllerRoleBinding,
  role: () => controllerRole,
  sa: () => controllerServiceAccount,
};

/** Every manifest that brings the controller up, in the order in which they are written. */
export const controllerManifests = (config: Config): readonly ManifestFile[] =>
  Object.entries(objects).map(([name, make]) => ({
    name: `assisted-installer-controller-${name}.yaml`,
    content: renderYaml(make(config)),
    mode: name === 'secret' ? 0o600 : 0o644,
  }));
