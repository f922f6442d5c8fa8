// Builds the agent's container image on this machine: node scripts/image.ts --help; see docs/image.md.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { shellWord } from '../src/cli/messages.ts';
import { ensureBundle } from './bundle.ts';
import {
  addressIn,
  agentImageName,
  buildAgentImage,
  openContainerStore,
} from './image/agent-image.ts';
import { archiveImages } from './image/archive.ts';
import { nodeFor } from './image/node-archive.ts';
import { ownArchitecture } from './parts/agent-image.ts';
import { endedBy, PartError } from './parts/part.ts';

const usage = `usage: node scripts/image.ts [--arch ARCH] [--node FILE] [--base BASE] [--name NAME] [--archive FILE.tar]

Builds the bundle and the agent's container image in a store of its own.

  --arch ARCH     amd64, arm64, ppc64le or s390x; that of this machine unless given
  --node FILE     for ppc64le and s390x: Node's own archive, held against images/node.sha256
  --base BASE     debian (unless given), ubi, or an image of yours with its digest
  --name NAME     name of the image; ${agentImageName} unless given
  --archive FILE  writes the image as an OCI archive, for podman load or skopeo copy
`;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      arch: { type: 'string', default: ownArchitecture },
      base: { type: 'string', default: 'debian' },
      node: { type: 'string' },
      name: { type: 'string', default: agentImageName },
      archive: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const { base, name, archive } = values;
  // Before anything is built.
  const source = nodeFor(values.arch, values.node);
  process.umask(0o022);
  await ensureBundle((text) => process.stderr.write(text));
  const store = openContainerStore();
  await buildAgentImage(store, { ...source, name, base });
  const bytes = await store.run('podman', 'image', 'inspect', '--format', '{{.Size}}', name);
  const megabytes = (Number(bytes) / 1e6).toFixed(0);
  if (archive === undefined) {
    process.stdout.write(`${name}: ${megabytes} MB, in ${store.images}
next: skopeo copy '${addressIn(store, name)}' containers-storage:${name}
`);
    return;
  }
  const { digest, bytes: layers } = await archiveImages(store, [name], { file: archive, name });
  const packed = ((layers[0] ?? 0) / 1e6).toFixed(0);
  process.stdout
    .write(`${name}: ${digest}, ${megabytes} MB, ${packed} MB packed, in ${resolve(archive)}
next: podman load --input ${shellWord(resolve(archive))}
`);
}

await endedBy(main(process.argv.slice(2)), PartError);
