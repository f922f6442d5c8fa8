// The guide to the lab with Cluster API: real agents on simulated hosts, by the bootstrap data of their Machines.
import { it } from 'vitest';
import { followGuide } from '../guides/follow-guide.ts';

it('installs three masters and two workers by the commands of its guide', async () => {
  await followGuide('cluster-api-on-one-machine.md', {});
});
