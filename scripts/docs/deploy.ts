import { checkConfig } from '../../src/config/load.ts';
import { controllerManifests } from '../../src/steps/bootstrap/controller-manifests.ts';
import { renderYaml } from '../../src/steps/bootstrap/render-yaml.ts';
import { nodeAgentManifests } from '../../src/controllers/node/manifests.ts';
import { nodeControllerManifests } from '../../src/controllers/pools/manifests.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { stringify } from 'yaml';
import { version } from '../../src/model/version.ts';

/** Names of the files, by those that a bootstrap host writes. */
const fileNames: Readonly<Record<string, string>> = {
  nm: 'namespace',
  'network-policy': 'network-policy',
  sa: 'service-account',
  role: 'cluster-role',
  'role-binding': 'cluster-role-binding',
  'namespace-role': 'role',
  'namespace-role-binding': 'role-binding',
  cm: 'config',
  pod: 'job',
};

/** Placeholders that a person replaces by values of the cluster. */
const settings = {
  'images.self': 'bootwright',
  'images.controller': 'bootwright',
  'cluster.id': '00000000-0000-0000-0000-000000000000',
  'cluster.openshiftVersion': '4.20.0',
  'cluster.controlPlaneCount': 3,
  'service.url': 'https://service.example:8090',
} as const;

/**
 * Files that are applied by hand: the objects of the controller as a bootstrap host gives them to
 * its cluster, and those by which pools are run where the Machine Config Operator does not.
 */
export function deployFiles(): Readonly<Record<string, string>> {
  const given = Object.entries(settings).map(
    ([key, value]) => [key as keyof typeof settings, { value, origin: 'deploy' }] as const,
  );
  const { config } = checkConfig([new Map(given)]);
  const made = new Map(controllerManifests(config).map(({ name, content }) => [name, content]));
  // The secret with the token is made by hand: no file of a tree holds one.
  if (Object.keys(fileNames).length + 1 !== made.size)
    throw new Error('a manifest of the controller has no file here');
  const files = Object.entries(fileNames).map(([from, to]) => {
    const content = made.get(`assisted-installer-controller-${from}.yaml`);
    if (content === undefined) throw new Error(`the bootstrap host writes no manifest ${from}`);
    return [`${to}.yaml`, content] as const;
  });
  const layering = [
    ...named('controller', nodeControllerManifests('bootwright')),
    ...named('agent', nodeAgentManifests('bootwright')),
  ];
  return {
    ...folderOf('deploy/controller', files, 'docs/controller.md'),
    ...folderOf('deploy/layering', layering, 'docs/node.md'),
  };
}

/** A folder for `kubectl apply -k`; the guide lists the values to set before. */
const folderOf = (
  folder: string,
  files: readonly (readonly [name: string, content: string])[],
  guide: string,
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(files.map(([name, content]) => [`${folder}/${name}`, content])),
  [`${folder}/kustomization.yaml`]: `# This folder is written by \`npm run docs\`. ${guide} says what to set before it is applied.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
${files.map(([name]) => `  - ${name}\n`).join('')}images:
  - name: bootwright
    newName: registry.example/bootwright
    newTag: latest
`,
});

/**
 * Files by what they are of: `agent-role.yaml`, and `agent-role-in-default.yaml` beside the role of
 * another namespace.
 */
function named(
  of: string,
  objects: readonly KubeObject[],
): readonly (readonly [name: string, content: string])[] {
  const home = objects[0]?.metadata.namespace;
  return objects.map((object) => {
    const { namespace = home } = object.metadata;
    const place = namespace === home ? '' : `-in-${namespace}`;
    return [`${of}-${fileNameOf(object.kind ?? '')}${place}.yaml`, renderYaml(object)];
  });
}

/** `ServiceAccount` as `service-account`. */
const fileNameOf = (kind: string): string =>
  kind.replaceAll(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

/** Files of a release for clusterctl, without those that are written by hand. */
export const capiFiles = (): Readonly<Record<string, string>> => ({
  'deploy/capi/metadata.yaml': `# This file is written by \`npm run docs\`.\n${stringify(metadata())}`,
});

/** The contract of each release (clusterctl, provider contract). */
function metadata(): object {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return {
    apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
    kind: 'Metadata',
    releaseSeries: [{ major, minor, contract: 'v1beta2' }],
  };
}
