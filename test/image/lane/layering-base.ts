import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerStore } from '../../support/container-store.ts';
import { debianRoot } from '../../../scripts/parts/scripted.ts';
import { ensurePart } from '../../../scripts/parts/ensure.ts';

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
export async function buildLayeringBase(
  store: ContainerStore,
  folder: string,
  name: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(await ensurePart(debianRoot), 'root.tar'), join(folder, 'root.tar'));
  copyFileSync(ignition, join(folder, 'ignition'));
  writeFileSync(join(folder, 'jq'), jq, { mode: 0o755 });
  writeFileSync(join(folder, 'Containerfile'), containerfile);
  await store.run('buildah', 'build', '--layers', '--tag', name, folder);
}

/** The same image, labelled for another architecture. */
export async function otherArchitecture(
  store: ContainerStore,
  base: string,
  name: string,
): Promise<void> {
  const container = await store.run('buildah', 'from', '--pull-never', base);
  try {
    await store.run('buildah', 'config', '--arch', 's390x', container);
    await store.run('buildah', 'commit', '--quiet', container, name);
  } finally {
    await store.run('buildah', 'rm', container);
  }
}
