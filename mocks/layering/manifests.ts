// What somebody puts beside the manifests of an installation who wants its operating systems built.
import { stringify } from 'yaml';
import { labPullSecret } from '../registries/network.ts';
import {
  builtPools,
  type LayeredPlan,
  pushCredentials,
  releaseImage,
  repositoryOf,
} from './plan.ts';

const pushSecret = 'push-os-images';

/** Files of the bootstrap host: a MachineOSConfig for each pool, their Secret, and the script that names the release. */
export function layeredBootstrapFiles(plan: LayeredPlan): Readonly<Record<string, string>> {
  const [secret, ...configs] = [secretManifest(plan), ...builtPools.map(osConfigManifest(plan))];
  return {
    '/opt/openshift/openshift/99-push-secret.yaml': stringify(secret),
    ...Object.fromEntries(
      configs.map((config, at) => [
        `/opt/openshift/openshift/99-os-${builtPools[at] ?? ''}.yaml`,
        stringify(config),
      ]),
    ),
    '/usr/local/bin/release-image.sh': `RELEASE_IMAGE_DIGEST="${releaseImage}"\n`,
  };
}

/** The credentials of the Secret, as the oracle asks with them. */
export const pushAuth = (plan: LayeredPlan): string =>
  JSON.stringify({
    auths: { [plan.registry]: { auth: Buffer.from(pushCredentials(plan)).toString('base64') } },
  });

/** Pull secret of the nodes. */
export const nodePullSecret = labPullSecret;

const secretManifest = (plan: LayeredPlan): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: pushSecret, namespace: 'openshift-machine-config-operator' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(pushAuth(plan)).toString('base64') },
});

const osConfigManifest =
  (plan: LayeredPlan) =>
  (pool: string): object => ({
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineOSConfig',
    metadata: { name: pool },
    spec: {
      machineConfigPool: { name: pool },
      imageBuilder: { imageBuilderType: 'Job' },
      renderedImagePushSecret: { name: pushSecret },
      renderedImagePushSpec: `${repositoryOf(plan, pool)}:latest`,
      containerFile: [
        {
          content: 'FROM configs AS final\nRUN dnf install -y tcpdump && ostree container commit\n',
        },
      ],
    },
  });
