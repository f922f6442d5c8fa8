import { parse } from 'yaml';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import { Secret } from '../../src/model/secret.ts';
import { controllerManifests } from '../../src/steps/bootstrap/controller-manifests.ts';

/** The settings of a bootstrap host that installs the controller. */
export const controllerSettings: ConfigInput = {
  service: { url: 'https://svc.example:8090', token: new Secret('a: "token"') },
  cluster: { id: '0123e456-0000-4000-8000-000000000000', openshiftVersion: '4.20' },
  images: { controller: 'quay.io/x/controller:1', mustGather: `{"ocp":"it's: here"}` },
};

/** A manifest of the controller, parsed as YAML 1.1 as by an API server. */
export function controllerManifest(
  name: string,
  input: ConfigInput = controllerSettings,
): Record<string, unknown> {
  const found = controllerManifests(Config.parse(input)).find(
    (file) => file.name === `assisted-installer-controller-${name}.yaml`,
  );
  return parse(found?.content ?? '', { version: '1.1' }) as Record<string, unknown>;
}
