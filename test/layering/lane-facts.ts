import type { BuildRequest, RenderedConfig } from '../../src/steps/layering/facts.ts';
import { releaseImage, renderedName } from './rendered.ts';
import { ordered, osConfigObject } from './samples.ts';

/** An order for some pools. */
export const requestFor = (
  pools: readonly string[],
  kind: 'on' | 'submit' = 'on',
): BuildRequest => ({
  kind,
  why: 'the release can do it',
  pools: pools.map((pool) => ({
    pool,
    ...ordered(osConfigObject({}, pool)),
    pushSecret: '/opt/openshift/bootwright-layering/secrets/push.yaml',
    repository: `registry.example.com/ocl/${pool}`,
  })),
});

/** No order. */
export const noRequest: BuildRequest = { kind: 'off', why: 'no manifest holds a MachineOSConfig' };

/** What the bootstrap controller rendered for a pool. */
export const renderedFor = (pool: string): RenderedConfig => ({
  pool,
  name: renderedName(pool),
  file: `/etc/mcs/bootstrap/machine-configs/${renderedName(pool)}.yaml`,
  osImage: releaseImage,
});
