import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { layeringFailure } from '../failures.ts';

/** Prefix of each output line about the content of an image. */
const MARK = 'bootwright-saw';

/** Findings of an inspection inside an image. */
export interface ImageContent {
  /** Versions of the installed kernels. */
  readonly kernels: readonly string[];
  /** Kernels without an `initramfs.img` beside their `vmlinuz`. */
  readonly withoutInitramfs: readonly string[];
  /** Names of rendered MachineConfigs in its `currentconfig`. */
  readonly configs: readonly string[];
  /**
   * The last lines of `bootc container lint` when it fails; undefined without bootc, or without
   * findings.
   */
  readonly lint?: string;
  /** Whether the inspection ran to its end. */
  readonly isWhole: boolean;
}

/** Tag of the image that is deleted after the inspection. */
export const inspectionTag = (pool: string): string => `localhost/bootwright/look-${pool}:latest`;

/** Number of lines of bootc that are kept: its findings come last. */
const linesOfLint = 12;

/**
 * A Containerfile that only inspects an image. A build runs wherever the image itself was built,
 * while mounting an image needs root, and running one needs privileges that a container or a chroot
 * may lack.
 */
export const inspectionContainerfile = (image: string): string =>
  [
    `FROM ${image}`,
    'RUN for kernel in /usr/lib/modules/*/vmlinuz; do \\',
    '      [ -e "$kernel" ] || continue; \\',
    '      folder="$(dirname "$kernel")"; \\',
    `      echo "${MARK} kernel $(basename "$folder")"; \\`,
    `      [ -s "$folder/initramfs.img" ] || echo "${MARK} no-initramfs $(basename "$folder")"; \\`,
    '    done; \\',
    `    grep -oE '"name":"rendered-[^"]+"' /etc/machine-config-daemon/currentconfig | sort -u | \\`,
    `      sed -e 's/^"name":"/${MARK} config /' -e 's/"$//'; \\`,
    // Older versions of bootc do not have this subcommand.
    '    if bootc container lint --help >/dev/null 2>&1; then \\',
    '      said="$(bootc container lint 2>&1)" || \\',
    `        { echo ${MARK} lint failed; echo "$said" | sed -e 's/^/${MARK} lint-says /'; }; \\`,
    '    fi; \\',
    `    echo ${MARK} end`,
    '',
  ].join('\n');

/** Collects the output of the build, line by line. */
export function insideReader(): {
  readonly line: (line: string) => void;
  readonly seen: () => ImageContent;
} {
  const said: string[] = [];
  const of = (kind: string): readonly string[] =>
    said.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []));
  return {
    line: (line) => {
      const at = line.trim();
      if (at.startsWith(`${MARK} `)) said.push(at.slice(MARK.length + 1));
    },
    seen: () => ({
      kernels: of('kernel'),
      withoutInitramfs: of('no-initramfs'),
      configs: of('config'),
      ...(said.includes('lint failed')
        ? { lint: of('lint-says').slice(-linesOfLint).join('\n') }
        : {}),
      isWhole: said.includes('end'),
    }),
  };
}

const ImageConfig = z.object({
  architecture: z.string().default(''),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** Architecture and labels of an image. */
export interface ImageFacts {
  /** The name in Go: `amd64`. */
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
  throw layeringFailure(
    'layering.image-unreadable',
    `skopeo printed no readable configuration of ${image}`,
  );
}

/**
 * Label by which CoreOS images name their stream (machine-config-operator, `pkg/osimagestream`).
 */
const streamLabel = 'io.openshift.os.streamclass';

/**
 * Refuses an image as the base of a pool with another OS stream.
 * @throws AgentError `layering.image-stream`
 */
export function requireStream(
  pool: string,
  stream: string,
  image: string,
  labels: ImageFacts['labels'],
): void {
  const found = labels[streamLabel];
  if (found === stream) return;
  const other = found === undefined ? 'names no stream' : `is of stream ${found}`;
  throw layeringFailure(
    'layering.image-stream',
    `pool ${pool} asks for OS stream ${stream}, and ${image} of its rendered MachineConfig ${other}`,
  );
}

/** Labels of a bootable image: of rpm-ostree, and of bootc. */
const bootableLabels = ['ostree.bootable', 'containers.bootc'] as const;

/**
 * Refuses a built image that machines must not boot.
 * @param expected names of the image, of its rendered MachineConfig and of its pool; the
 * architecture of its base
 * @throws AgentError `layering.image-*`
 */
export function requireBootable(
  expected: Readonly<Record<'image' | 'rendered' | 'pool' | 'architecture', string>>,
  { architecture, labels }: ImageFacts,
  { kernels, withoutInitramfs, configs, isWhole }: ImageContent,
): void {
  const { image, rendered, pool } = expected;
  const wanted = { machineconfig: rendered, machineconfigpool: pool };
  for (const [label, value] of Object.entries(wanted)) {
    const found = labels[label];
    if (found === value) continue;
    const instead = found === undefined ? 'is missing' : `is ${found}`;
    const what = `label ${label} of ${image} ${instead}, expected ${value}`;
    throw layeringFailure('layering.image-label-missing', what);
  }
  if (!bootableLabels.some((label) => (labels[label] ?? '') !== '')) {
    const what = `${image} has none of the labels ${bootableLabels.join(', ')}`;
    throw layeringFailure('layering.image-not-bootable', what);
  }
  if (architecture !== expected.architecture) {
    const what = `${image} is for ${architecture}, its base for ${expected.architecture}`;
    throw layeringFailure('layering.image-architecture', what);
  }
  if (!isWhole)
    throw layeringFailure(
      'layering.image-unreadable',
      `the content of ${image} could not be listed`,
    );
  if (kernels.length !== 1) {
    const found = kernels.length === 0 ? 'no kernel' : kernels.join(' and ');
    throw layeringFailure('layering.image-kernels', `${image} has ${found} in /usr/lib/modules`);
  }
  const [bare] = withoutInitramfs;
  if (bare !== undefined) {
    const what = `${image} has no /usr/lib/modules/${bare}/initramfs.img`;
    throw layeringFailure('layering.image-initramfs', what);
  }
  if (configs.includes(rendered)) return;
  const found = configs.length === 0 ? 'no rendered MachineConfig' : configs.join(', ');
  throw layeringFailure(
    'layering.image-wrong-config',
    `/etc/machine-config-daemon/currentconfig of ${image} holds ${found}, expected ${rendered}`,
  );
}
