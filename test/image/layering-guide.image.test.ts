// The guide to layering, with real buildah and a real registry.
import { readFileSync } from 'node:fs';
import { it } from 'vitest';
import { openLayeredSite } from './lane/layered-site.ts';
import { followGuide } from '../guides/follow-guide.ts';

it('layering.md', async () => {
  await using site = await openLayeredSite();
  const environment = {
    ...site.environment,
    REGISTRY: site.final.address,
    OS_IMAGE: site.osImage,
    SERVICE: 'https://service.example.com',
    CLUSTER_ID: 'c',
    HOST_ID: 'h',
  };
  const files = { 'pull-secret.json': readFileSync(site.authFile, 'utf8') };
  await followGuide('layering.md', environment, { files });
});
