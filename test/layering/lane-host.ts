import { Buffer } from 'node:buffer';
import { PULL_SECRET_PATH } from '../../src/ignition/resource.ts';
import { stagingFiles } from '../../src/layering/registry/staging-registry.ts';
import { coreOsDisk, lsblkOutput } from '../support/disk-samples.ts';
import type { PoolRequest, RenderedPool, StagingRegistry } from '../../src/steps/layering/facts.ts';
import { any, fakeHost, type FakeHost, rest } from '../support/fake-host.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { images, machineConfigObject, ordered, osConfigObject } from './samples.ts';

/** Digest of the built image. */
export const builtDigest = `sha256:${'d'.repeat(64)}`;

/** The digest of the base. */
export const baseDigest = images.baseOSContainerImage.slice(-71);

/** Settings of a lane. */
export const laneConfig = { layering: { mode: 'on' } } as const;

const masters: PoolRequest = {
  pool: 'master',
  ...ordered(osConfigObject()),
  pushSecret: '/manifests/push.yaml',
  repository: 'registry.rig.test/ocl/master',
};

/** The rendered pool of masters. */
export const lanePool: RenderedPool = {
  ...masters,
  rendered: `rendered-master-${'0'.repeat(32)}`,
  file: '/etc/mcs/bootstrap/machine-configs/rendered.yaml',
  osImage: images.baseOSContainerImage,
};

/** The rendered pools. */
export const laneRendered: { kind: 'pools'; pools: RenderedPool[] } = {
  kind: 'pools',
  pools: [lanePool],
};

/** A registry that runs on the host. */
export const laneRegistry: StagingRegistry = {
  kind: 'running',
  address: '127.0.0.1:22626',
  certificates: stagingFiles.certificates,
  authFile: stagingFiles.authFile,
};

const config = (labels: object, architecture = 'amd64'): string =>
  JSON.stringify({ architecture, config: { Labels: labels } });

const bootable = { 'ostree.bootable': 'true' };
const labels = {
  ...bootable,
  machineconfig: lanePool.rendered,
  machineconfigpool: 'master',
};

const secret = (registry: string): object => ({
  kind: 'Secret',
  metadata: { name: 'push' },
  data: {
    '.dockerconfigjson': Buffer.from(`{"auths":{"${registry}":{"auth":"hidden"}}}`).toString(
      'base64',
    ),
  },
});

/** A bootstrap host on which every command of the lane succeeds. */
export function laneHost(clock?: Clock): FakeHost {
  const host = fakeHost(clock === undefined ? {} : { clock })
    .withFile('/manifests/push.yaml', JSON.stringify(secret('registry.rig.test')))
    .withFile(lanePool.file, JSON.stringify(machineConfigObject()))
    .withFile(PULL_SECRET_PATH, '{"auths":{"registry.rig.test":{"auth":"hidden"}}}')
    .withFile(laneRegistry.authFile, '{"auths":{"127.0.0.1:22626":{"auth":"hidden"}}}')
    .withFile(
      '/usr/local/bin/release-image.sh',
      'RELEASE_IMAGE_DIGEST="quay.io/r/release@sha256:1"\n',
    );
  for (const program of [
    'mkdir',
    'install',
    'mount',
    'umount',
    'fsfreeze',
    'growpart',
    'xfs_growfs',
    'cp',
  ]) {
    host.on([program, rest]).succeeds();
  }
  host.on(['openssl', rest]).succeeds();
  host.on(['df', rest]).prints('     Avail\n30000000000');
  host.on(['uname', '-m']).prints('x86_64');
  host.on(['lsblk', rest]).prints(lsblkOutput(coreOsDisk('sda')));
  host.on(['podman', 'start', rest]).succeeds();
  host.on(['podman', 'rm', rest]).succeeds();
  host.on(['podman', 'run', rest]).succeeds();
  host.on(['podman', 'run', '--quiet', rest]).prints('quay.io/r/registry@sha256:2');
  host.on(['curl', rest]).prints('200');
  onImages(host);
  return host;
}

function onImages(host: FakeHost): void {
  host.on(['buildah', '--version']).isMissing();
  host.on(['podman', '--version']).prints('podman version 5.4.0');
  host.on(['skopeo', 'copy', rest]).succeeds();
  host.on(['skopeo', 'inspect', '--raw', rest]).prints('{"layers":[]}');
  host.on(['skopeo', 'inspect', '--no-tags', rest]).answers((argv) => {
    const image = argv.at(-1) ?? '';
    return image.includes('/ocl/') ? builtDigest : baseDigest;
  });
  host.on(['skopeo', 'inspect', '--config', rest]).prints(config(bootable));
  host
    .on(['skopeo', 'inspect', '--config', any])
    .answers((argv) =>
      config(argv.at(-1)?.includes('localhost/bootwright') === true ? labels : bootable),
    );
  host.on(['podman', '--root', rest]).answers((argv) => {
    if (argv.includes('push')) {
      const digestFile = argv[argv.indexOf('--digestfile') + 1] ?? '';
      host.withFile(digestFile, `${builtDigest}\n`);
      host.on(['skopeo', 'inspect', '--no-tags', rest]).prints(builtDigest);
      return '';
    }
    if (argv.at(-1)?.endsWith('/look') !== true) return 'STEP 1/2: FROM x\n';
    return ['kernel 6.1', `config ${lanePool.rendered}`, 'end']
      .map((line) => `bootwright-saw ${line}\n`)
      .join('');
  });
}
