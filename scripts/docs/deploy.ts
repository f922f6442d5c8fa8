import { checkConfig } from '../../src/config/load.ts';
import { controllerManifests } from '../../src/steps/bootstrap/controller-manifests.ts';

const folder = 'deploy/controller';

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

/** What a person replaces by what is true of the cluster. */
const settings = {
  'images.self': 'bootwright',
  'images.controller': 'bootwright',
  'cluster.id': '00000000-0000-0000-0000-000000000000',
  'cluster.openshiftVersion': '4.20.0',
  'cluster.controlPlaneCount': 3,
  'service.url': 'https://service.example:8090',
} as const;

/** The objects of the controller as a bootstrap host gives them to its cluster, for whoever applies them by hand. */
export function deployFiles(): Readonly<Record<string, string>> {
  const given = Object.entries(settings).map(
    ([key, value]) => [key as keyof typeof settings, { value, origin: 'deploy' }] as const,
  );
  const { config } = checkConfig([new Map(given)]);
  const made = new Map(controllerManifests(config).map(({ name, content }) => [name, content]));
  const files = Object.entries(fileNames).map(([from, to]) => {
    const content = made.get(`assisted-installer-controller-${from}.yaml`);
    if (content === undefined) throw new Error(`the bootstrap host writes no manifest ${from}`);
    return [`${folder}/${to}.yaml`, content] as const;
  });
  // The secret with the token is made by hand: no file of a tree holds one.
  if (files.length + 1 !== made.size)
    throw new Error('a manifest of the controller has no file here');
  const resources = Object.values(fileNames).map((name) => `  - ${name}.yaml\n`);
  return {
    ...Object.fromEntries(files),
    [`${folder}/kustomization.yaml`]: `${head}resources:\n${resources.join('')}images:\n${image}`,
  };
}

const head = `# This folder is written by \`npm run docs\`. docs/controller.md says what to set before it is applied.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
`;

const image = `  - name: bootwright
    newName: registry.example/bootwright
    newTag: latest
`;
