// Builds the agent's container image on this machine: node scripts/image.ts --help; see docs/image.md.
import { parseArgs } from 'node:util';
import { ensureBundle } from './bundle.ts';
import {
  agentImageName,
  buildAgentImage,
  imageBytes,
  openContainerStore,
} from './image/agent-image.ts';
import { PartError } from './parts/part.ts';

const usage = `usage: node scripts/image.ts [--base IMAGE] [--name NAME] [--archive FILE.tar]

Builds the bundle and the agent's container image in a store of its own.

  --base IMAGE    what it is built on; without it, a Debian base that is made here
  --name NAME     name of the image; ${agentImageName} unless given
  --archive FILE  writes the image as an OCI archive, for podman load or skopeo copy
`;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      base: { type: 'string' },
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
  await ensureBundle((text) => process.stderr.write(text));
  const store = openContainerStore();
  await buildAgentImage(store, { name, ...(base === undefined ? {} : { base }) });
  if (archive !== undefined) await store.run('buildah', 'push', name, `oci-archive:${archive}`);
  const megabytes = (await imageBytes(store, name)) / 1e6;
  process.stdout.write(`${name} ${megabytes.toFixed(0)} MB\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof PartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
