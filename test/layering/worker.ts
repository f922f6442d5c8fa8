import { OS_REPOSITORY_PATH } from '../../src/layering/manifests/served-config.ts';
import { servedIgnition } from './served.ts';

const secret = '{"auths":{"registry.example":{"auth":"eDp5"}}}';
const certificate = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

/** Values shared by the tests of a worker that uses a built image. */
export const workerCase = {
  rendered: `rendered-worker-${'1'.repeat(32)}`,
  releaseImage: 'quay.example/rhcos@sha256:9',
  repository: 'registry.example/ocl/worker',
  digest: `sha256:${'b'.repeat(64)}`,
  image: `registry.example/ocl/worker@sha256:${'b'.repeat(64)}`,
  url: 'http://api-int.example:22624/config/worker',
  ignition: '/opt/install-dir/worker-h.ign',
  secret,
  certificate,
} as const;

/** The pointer Ignition of a worker from the service. */
export const workerPointer = JSON.stringify({
  ignition: { version: '3.2.0', config: { merge: [{ source: workerCase.url }] } },
});

/** Variations of the config that is served to a worker. */
interface ServedWorker {
  readonly hasCertificate?: boolean;
  readonly osImage?: string | undefined;
  /** The repository in the config; none by default. */
  readonly repository?: string;
}

/** The answer of the machine-config-server for a worker whose pool runs `image`, or no image. */
export function servedToWorker(
  image?: string,
  { hasCertificate = false, osImage = image, repository }: ServedWorker = {},
): string {
  const { rendered, releaseImage } = workerCase;
  const shape = { rendered, osImage: osImage ?? releaseImage };
  const text = servedIgnition(image === undefined ? shape : { ...shape, image });
  const config = JSON.parse(text) as { storage: { files: object[] } };
  config.storage.files.push(fileOf('/var/lib/kubelet/config.json', secret));
  if (hasCertificate) {
    config.storage.files.push(fileOf('/etc/docker/certs.d/registry.example/ca.crt', certificate));
  }
  if (repository !== undefined) {
    config.storage.files.push(fileOf(OS_REPOSITORY_PATH, `${repository}\n`));
  }
  return JSON.stringify(config);
}

const fileOf = (path: string, text: string): object => ({
  path,
  mode: 0o600,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});
