import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePart } from '../../../scripts/parts/ensure.ts';
import { debianRoot } from '../../../scripts/parts/scripted.ts';
import { type ContainerStore, openContainerStore } from '../../support/container-store.ts';
import { localHost } from '../../../src/adapters/host/local-host.ts';
import { PULL_SECRET_PATH } from '../../../src/ignition/resource.ts';
import {
  registryDigestArgv,
  registryManifestArgv,
} from '../../../src/layering/build/container-tools.ts';
import { mergePullSecrets } from '../../../src/layering/registry/credentials.ts';
import { laneHost, type LaneHost, lanePaths } from './build-lane.ts';
import { machineConfig } from './lane-objects.ts';
import { type SecureRegistry, startSecureRegistry } from './secure-registry.ts';

const base = 'localhost/bootwright-test:lane-base';

/** `jq .spec.config FILE`: the object of that name, with any content. */
const jq = `#!/usr/bin/perl -0
open my $file, '<', $ARGV[1] or die;
my $text = <$file>;
print $1 if $text =~ /"config":(\\{(?:[^{}"]|"(?:\\\\.|[^"\\\\])*"|(?1))*\\})/;
`;

const ignition = '/usr/lib/dracut/modules.d/30ignition/ignition';

/**
 * Debian with the real Ignition. Stubs replace the programs of an ostree system: each program
 * records its calls, and jq answers the one query that is used.
 */
const containerfile = [
  'FROM scratch',
  'ADD root.tar /',
  `COPY ignition ${ignition}`,
  ...['ostree', 'update-ca-trust'].map(
    (name) =>
      `RUN printf '#!/bin/sh\\necho "${name} $*" >> /usr/share/calls\\n' > /usr/bin/${name} && chmod 755 /usr/bin/${name}`,
  ),
  'COPY jq /usr/bin/jq',
  'RUN mkdir -p /etc/pki/ca-trust/source/anchors /usr/lib/modules/6.1.0 && echo kernel > /usr/lib/modules/6.1.0/vmlinuz && echo initramfs > /usr/lib/modules/6.1.0/initramfs.img',
  'LABEL ostree.bootable=true containers.bootc=1',
  '',
].join('\n');

/** Builds a base image for layered images, of several layers. */
async function buildLayeringBase(store: ContainerStore, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(await ensurePart(debianRoot), 'root.tar'), join(folder, 'root.tar'));
  copyFileSync(ignition, join(folder, 'ignition'));
  writeFileSync(join(folder, 'jq'), jq, { mode: 0o755 });
  writeFileSync(join(folder, 'Containerfile'), containerfile);
  await store.run('buildah', 'build', '--layers', '--tag', base, folder);
}

/** The repositories of the release and of the built images. */
export const names = { release: 'release/os', final: 'ocl/master' };

/** Two registries, a base system in the first, and a bootstrap host that builds for the second. */
export interface LayeredSite extends AsyncDisposable {
  readonly folder: string;
  readonly release: SecureRegistry;
  readonly final: SecureRegistry;
  readonly lane: LaneHost;
  /** The base system. */
  readonly osImage: string;
  /** Path of a file with the credentials of both registries. */
  readonly authFile: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command on the machine of the test and returns its output. */
  readonly ask: (argv: readonly string[]) => Promise<string>;
  /** The digests of the layers of an image; by default with the credentials of both registries. */
  readonly layersOf: (image: string, access?: object) => Promise<readonly string[]>;
}

interface Manifest {
  readonly layers: readonly { readonly digest: string }[];
}

/** Both registries, with credentials and certificates for them. */
async function openRegistries(folder: string, opened: AsyncDisposableStack) {
  const release = opened.use(await startSecureRegistry(join(folder, 'release')));
  const final = opened.use(await startSecureRegistry(join(folder, 'final')));
  const authorities = join(folder, 'authorities.pem');
  writeFileSync(authorities, `${release.authority}${final.authority}`);
  const authFile = join(folder, 'auth.json');
  const both = [release, final].map(({ pullSecret }) => ({ from: 'test', text: pullSecret }));
  const pullSecret = mergePullSecrets(both);
  writeFileSync(authFile, pullSecret);
  return { release, final, authorities, authFile, pullSecret };
}

/** Starts the registries and builds the system; it takes some ten seconds. */
export async function openLayeredSite(): Promise<LayeredSite> {
  const store = openContainerStore();
  // podman requires a socket folder whose name has at most 50 characters.
  const folder = mkdtempSync(join(tmpdir(), 'bw-'));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const { release, final, authorities, authFile, pullSecret } = await openRegistries(
    folder,
    opened,
  );
  const environment = { ...store.environment, SSL_CERT_FILE: authorities };
  const ask: LayeredSite['ask'] = async (argv) => {
    const { signal } = new AbortController();
    const host = localHost({ environment: { ...process.env, ...environment } });
    return (await host.exec(argv, { signal, limit: 600_000 })).stdout;
  };
  const pushed = async (tag: string): Promise<string> => {
    const name = `${release.address}/${names.release}`;
    const to = `docker://${name}:${tag}`;
    await ask(['buildah', 'push', '--quiet', '--authfile', authFile, base, to]);
    return `${name}@${await ask(registryDigestArgv({ image: `${name}:${tag}`, authFile }))}`;
  };
  await buildLayeringBase(store, join(folder, 'base'));
  const osImage = await pushed('4.23');
  const lane = opened.use(await laneHost(join(folder, 'h'), environment));
  lane.write(PULL_SECRET_PATH, pullSecret);
  lane.write(lanePaths.rendered, machineConfig(osImage));
  const left = opened.move();
  return {
    folder,
    release,
    final,
    lane,
    osImage,
    authFile,
    environment,
    ask,
    layersOf: async (image, access = { authFile }) =>
      (JSON.parse(await ask(registryManifestArgv({ image, ...access }))) as Manifest).layers.map(
        ({ digest }) => digest,
      ),
    [Symbol.asyncDispose]: () => left.disposeAsync(),
  };
}
