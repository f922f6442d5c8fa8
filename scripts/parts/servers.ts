import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';
import { goToolchain, runGo } from './toolchain.ts';

/** A registry of container images, at `bin/docker-registry`. */
export const imageRegistry: CachedPart = {
  kind: 'cached',
  name: 'image-registry',
  purpose: 'a registry of container images: distribution, as Debian has it',
  pin: "the machine's own Debian suite",
  cost: '2 seconds, 20 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, osFile('image-registry.sh')],
  build: (site) => site.log.run({ argv: [osFile('image-registry.sh'), site.folder] }),
};

const version = 'v1.8.0';

/** A real S3 server over a plain folder, at `bin/versitygw`. */
export const s3Server: CachedPart = {
  kind: 'cached',
  name: 's3-server',
  purpose: `versitygw ${version}, an S3 server over a folder`,
  pin: version,
  cost: '80 seconds, 80 MB',
  tools: [goToolchain],
  inputs: [],
  files: [import.meta.filename],
  build: (site) =>
    runGo(site, ['install', `github.com/versity/versitygw/cmd/versitygw@${version}`]),
};
