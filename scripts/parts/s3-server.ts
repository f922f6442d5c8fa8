import type { CachedPart } from './part.ts';
import { runGo, toolchainRoot } from './toolchain.ts';

const version = 'v1.8.0';

/** A real S3 server over a plain folder, at `bin/versitygw`. */
export const s3Server: CachedPart = {
  kind: 'cached',
  name: 's3-server',
  purpose: `versitygw ${version}, an S3 server over a folder`,
  pin: version,
  cost: '80 seconds, 80 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename],
  build: (site) =>
    runGo(site, ['install', `github.com/versity/versitygw/cmd/versitygw@${version}`]),
};
