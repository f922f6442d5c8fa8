import { breachText } from '../../layering/invariants/table.ts';
import {
  type NodeStanding,
  type PoolStanding,
  standingOfPool,
} from '../../layering/invariants/standing.ts';
import { lookAtCluster, withCluster } from './cluster.ts';

/** What `layer status` is asked for. */
export interface StatusCall {
  readonly kubeconfig: string;
  /** All pools without it. */
  readonly pool?: string;
  /** `text` or `json`. */
  readonly format: string;
}

/**
 * Prints how the pools of a cluster stand to layering; resolves with 1 when an invariant of a layered pool does not
 * hold.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerStatus({ kubeconfig, pool, format }: StatusCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await lookAtCluster(kube, signal, pool);
    const pools = pool === undefined ? cluster.pools.map(({ metadata }) => metadata.name) : [pool];
    const standings = pools.map((name) => standingOfPool(name, cluster));
    process.stdout.write(
      format === 'json' ? renderStandingsJson(standings) : renderStandings(standings),
    );
    return standings.some(({ breaches }) => breaches.length > 0) ? 1 : 0;
  });
}

/** The pools as people read them. */
export const renderStandings = (standings: readonly PoolStanding[]): string =>
  standings.map((standing) => `${linesOf(standing).join('\n')}\n`).join('\n');

/** The same for programs. Fields are added in later versions, none is taken away. */
export const renderStandingsJson = (standings: readonly PoolStanding[]): string =>
  `${JSON.stringify({ pools: standings }, undefined, 2)}\n`;

const width = 18;

const line = (left: string, right: string): string => `  ${left.padEnd(width)}${right}`.trimEnd();

function linesOf(standing: PoolStanding): readonly string[] {
  const { pool, isLayered, isPaused, rendered, pushSpec, build, image, nodes, breaches } = standing;
  const title = `pool ${pool}${isPaused ? ' (paused)' : ''}`;
  const layered = nodes.filter(isOnAnImage);
  if (!isLayered && layered.length === 0) return [title, line('layered', 'no')];
  const onImage = nodes.filter((node) => isOn(node, image)).length;
  return [
    title,
    line('MachineOSConfig', isLayered ? `pushes to ${pushSpec}` : 'none'),
    line('MachineOSBuild', build.name === '' ? 'none' : `${build.name}: ${build.phase}`),
    line('image', image === '' ? 'none' : image),
    line('MachineConfig', rendered === '' ? 'not rendered' : rendered),
    line('nodes', `${onImage} of ${nodes.length} run the image`),
    ...nodes.map((node) => line(`  ${node.name}`, nodeText(node, image))),
    ...breaches.map((breach) => line('does not hold', `${breachText(breach)} (${breach.title})`)),
  ];
}

const isOnAnImage = ({ currentImage, desiredImage }: NodeStanding): boolean =>
  currentImage !== '' || desiredImage !== '';

const isOn = ({ currentImage, desiredImage }: NodeStanding, image: string): boolean =>
  image !== '' && currentImage === image && desiredImage === image;

function nodeText(node: NodeStanding, image: string): string {
  const { state, currentImage, desiredImage } = node;
  const told = state === '' ? 'says no state' : state;
  if (isOn(node, image)) return told;
  const named = (text: string): string => (text === '' ? 'the release' : text);
  return currentImage === desiredImage
    ? `${told}; runs ${named(currentImage)}`
    : `${told}; runs ${named(currentImage)}, is to run ${named(desiredImage)}`;
}
