import type {
  BuildRequest,
  PoolRequest,
  PublishedPool,
  RenderedPool,
} from '../../src/steps/layering/facts.ts';
import { releaseImage, renderedName } from './rendered.ts';
import { ordered, osConfigObject } from './samples.ts';

const requested = (pool: string): PoolRequest => ({
  pool,
  ...ordered(osConfigObject({}, pool)),
  pushSecret: '/opt/openshift/bootwright-layering/secrets/push.yaml',
  repository: `registry.example.com/ocl/${pool}`,
});

/** A build request for some pools. */
export const requestFor = (
  pools: readonly string[],
  kind: 'on' | 'submit' = 'on',
): BuildRequest => ({
  kind,
  why: 'the release can do it',
  pools: pools.map(requested),
});

/** The result of the bootstrap controller for a pool. */
export const renderedFor = (pool: string): RenderedPool => ({
  ...requested(pool),
  rendered: renderedName(pool),
  file: `/etc/mcs/bootstrap/machine-configs/${renderedName(pool)}.yaml`,
  osImage: releaseImage,
});

/** Pools with published images. */
export const publishedFor = (
  pools: readonly string[],
  differs: Partial<PublishedPool> = {},
): { kind: 'pools'; pools: PublishedPool[] } => ({
  kind: 'pools',
  pools: pools.map((pool) => {
    const digest = `sha256:${'f'.repeat(64)}`;
    const staged = `127.0.0.1:22626/layering/os@${digest}`;
    const final = `registry.example.com/ocl/${pool}@${digest}`;
    return { ...renderedFor(pool), staged, digest, final, ...differs };
  }),
});
