import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine } from '../host/machine.ts';
import type { Pace } from './pace.ts';

/** The config of the single node as bootkube renders it on the host itself. */
const renderedConfig = JSON.stringify({
  ignition: { version: '3.2.0' },
  storage: {
    files: [
      {
        path: '/etc/kubernetes/bootstrap-in-place',
        mode: 0o644,
        contents: { source: 'data:,rendered%20by%20bootkube%0A' },
      },
    ],
  },
});

/** Lets bootkube of a single node do its work on the host: it renders the node's own Ignition. */
export function bootstrapInPlace({ units, files }: Machine, pace: Pace): void {
  const write = async (path: string, text: string): Promise<void> => {
    const place = await files.real(path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, text, { mode: 0o600 });
  };
  units.lives.set('bootkube.service', async (become, signal) => {
    become('active');
    await sleep((pace.apiSeconds + pace.bootkubeSeconds) * 1000, undefined, { signal });
    await write('/opt/openshift/master.ign', renderedConfig);
    await write('/opt/openshift/.bootkube.done', '');
    become('inactive');
  });
}
