import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import type { AgentError } from '../../model/failure.ts';
import { imageFailure } from './failures.ts';
import type { Inside } from './look-inside.ts';

const ImageConfig = z.object({
  architecture: z.string().default(''),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** What an image says of itself. */
export interface ImageFacts {
  /** As Go names it, `amd64`. */
  readonly architecture: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Reads the configuration of an image, as `skopeo inspect --config` prints it.
 * @throws AgentError `layering.image-unreadable`
 */
export function readImageFacts(text: string, image: string): ImageFacts {
  const parsed = ImageConfig.safeParse(jsonIn(text));
  if (parsed.success) {
    const { architecture, config } = parsed.data;
    return { architecture, labels: config?.Labels ?? {} };
  }
  throw imageFailure(
    'layering.image-unreadable',
    `skopeo says nothing of ${image} that can be read`,
  );
}

/** What a built image has to be. */
export interface Expected {
  readonly image: string;
  readonly renderedConfig: string;
  readonly pool: string;
  /** Architecture of the base. */
  readonly architecture: string;
}

/** Any of these says that an image can be booted: of rpm-ostree, and of bootc. */
const bootableLabels = ['ostree.bootable', 'containers.bootc'] as const;

/** Why a built image must not be given to machines; undefined when nothing is wrong. */
export function objectionTo(
  expected: Expected,
  { architecture, labels }: ImageFacts,
  inside: Inside,
): AgentError | undefined {
  const { image, renderedConfig, pool } = expected;
  for (const [label, wanted] of [
    ['machineconfig', renderedConfig],
    ['machineconfigpool', pool],
  ] as const) {
    const found = labels[label];
    if (found === wanted) continue;
    const instead = found === undefined ? 'is missing' : `is ${found}`;
    return imageFailure(
      'layering.image-label-missing',
      `label ${label} of ${image} ${instead}, ${wanted} is wanted`,
    );
  }
  if (!bootableLabels.some((label) => (labels[label] ?? '') !== '')) {
    return imageFailure(
      'layering.image-not-bootable',
      `${image} has none of the labels ${bootableLabels.join(', ')}`,
    );
  }
  if (architecture !== expected.architecture) {
    return imageFailure(
      'layering.image-architecture',
      `${image} is for ${architecture}, its base for ${expected.architecture}`,
    );
  }
  return objectionToInside(expected, inside);
}

function objectionToInside(
  { image, renderedConfig }: Expected,
  { kernels, configs, isWhole }: Inside,
): AgentError | undefined {
  if (!isWhole)
    return imageFailure('layering.image-unreadable', `the inside of ${image} was not told`);
  if (kernels.length !== 1) {
    const found = kernels.length === 0 ? 'no kernel' : kernels.join(' and ');
    return imageFailure('layering.image-kernels', `${image} has ${found} in /usr/lib/modules`);
  }
  if (configs.includes(renderedConfig)) return undefined;
  const found = configs.length === 0 ? 'no rendered MachineConfig' : configs.join(', ');
  return imageFailure(
    'layering.image-wrong-config',
    `/etc/machine-config-daemon/currentconfig of ${image} holds ${found}, ${renderedConfig} is wanted`,
  );
}
